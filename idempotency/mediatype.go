package idempotency

import (
	"bytes"
	"mime"
	"strings"
)

// canonicalPayload writes a Content-Type and a body in the one way of all requests
// that mean the same. The boundary of a multipart body means nothing: a client
// draws a new one for each attempt.
func canonicalPayload(header string, body []byte) (kind string, canonical []byte) {
	if header == "application/json" {
		return header, canonicalText(body)
	}
	media, params, err := mime.ParseMediaType(header)
	if err != nil {
		return header, body
	}
	isJSON := media == "application/json" || strings.HasSuffix(media, "+json")
	if charset, ok := params["charset"]; ok {
		params["charset"] = lowerASCII(charset)
		if params["charset"] == "utf-8" && (isJSON || media == "application/x-www-form-urlencoded") {
			delete(params, "charset") // both are UTF-8 without it
		}
	}
	if isJSON {
		body = canonicalText(body)
	} else if strings.HasPrefix(media, "multipart/") {
		if parts, ok := canonicalParts(body, params["boundary"]); ok {
			delete(params, "boundary")
			body = parts
		}
	}
	return mime.FormatMediaType(media, params), body
}

// canonicalText writes JSON in its canonical form, and leaves any other text as it is.
func canonicalText(body []byte) []byte {
	if text, ok := canonicalJSON(body); ok {
		return text
	}
	return body
}

// canonicalParts writes the parts of a multipart body (RFC 2046, section 5.1)
// without their boundary. It takes only what every reader splits alike: nothing
// before the first part, no boundary inside of one, and nothing after the last but
// a line break. ok is false for every other body.
func canonicalParts(body []byte, boundary string) (parts []byte, ok bool) {
	delimiter := []byte("--" + boundary)
	rest, opened := bytes.CutPrefix(body, delimiter)
	if boundary == "" || !opened {
		return nil, false
	}
	for {
		part, after, more := bytes.Cut(rest, delimiter)
		if !more {
			return parts, parts != nil && (string(rest) == "--" || string(rest) == "--\r\n")
		}
		part, begins := bytes.CutPrefix(part, []byte("\r\n"))
		part, ends := bytes.CutSuffix(part, []byte("\r\n"))
		if !begins || !ends {
			return nil, false
		}
		parts, rest = appendPart(parts, part), after
	}
}

func lowerASCII(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}
