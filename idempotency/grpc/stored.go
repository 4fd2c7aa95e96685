package grpc

import (
	"fmt"

	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
)

// payload is what must be the same on every repetition of a call.
type payload struct {
	Method  string `json:"method"`
	Message []byte `json:"message"`
}

func newPayload(method string, request any) (payload, error) {
	message, err := messageOf(request)
	if err != nil {
		return payload{}, err
	}
	encoded, err := deterministic.Marshal(message)
	if err != nil {
		return payload{}, fmt.Errorf("%w: %w", errNoMessage, err)
	}
	return payload{method, encoded}, nil
}

// stored is what is kept of an answer: a reply or a status.
type stored struct {
	Reply  []byte `json:"reply,omitempty"`  // google.protobuf.Any
	Status []byte `json:"status,omitempty"` // google.rpc.Status
}

// storedReply fails where a repetition could not be given the reply.
func storedReply(reply any) (stored, error) {
	message, err := messageOf(reply)
	if err != nil {
		return stored{}, err
	}
	if _, err := protoregistry.GlobalTypes.FindMessageByName(message.ProtoReflect().Descriptor().FullName()); err != nil {
		return stored{}, fmt.Errorf("%w: %T: %w", errNoMessage, reply, err)
	}
	typed := &anypb.Any{}
	if err := anypb.MarshalFrom(typed, message, deterministic); err != nil {
		return stored{}, fmt.Errorf("%w: %w", errNoMessage, err)
	}
	encoded, err := deterministic.Marshal(typed)
	return stored{Reply: encoded}, err
}

func storedStatus(s *status.Status) (stored, error) {
	p := s.Proto()
	p.Message = string([]rune(p.Message)) // valid UTF-8, as gRPC sends it
	encoded, err := deterministic.Marshal(p)
	if err != nil {
		return stored{}, fmt.Errorf("%w: %w", errNoMessage, err)
	}
	return stored{Status: encoded}, nil
}

// decode returns what the handler returned: a reply, or the answer that is an
// error.
func (s stored) decode() (reply proto.Message, answer, err error) {
	if s.Status != nil {
		p := &rpc.Status{}
		if err := proto.Unmarshal(s.Status, p); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errNoMessage, err)
		}
		return nil, status.ErrorProto(p), nil
	}
	typed := &anypb.Any{}
	if err := proto.Unmarshal(s.Reply, typed); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNoMessage, err)
	}
	if reply, err = typed.UnmarshalNew(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNoMessage, err)
	}
	return reply, nil, nil
}

func messageOf(v any) (proto.Message, error) {
	if m, ok := v.(proto.Message); ok {
		return m, nil
	}
	return nil, fmt.Errorf("%w: %T", errNoMessage, v)
}
