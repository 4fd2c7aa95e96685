package importer

import (
	"errors"
	"fmt"
)

// tool is what the command lines of curl and wget have in common while they are read.
type tool struct {
	*entry
	name   string
	hasURL bool
	quiet  bool // it has options about what is printed, which cronce has no use for
}

func (t *tool) setURL(w word) error {
	if t.hasURL {
		return errors.New("the command has several URLs; give each a job")
	}
	t.hasURL, t.call.url = true, w
	return nil
}

// field splits a header.
func (t *tool) field(w word) (name string, value word, err error) {
	before, after, colon := w.cut(':')
	name, ok := before.literal(t.call.env)
	if !colon || !ok || name == "" {
		return "", nil, errors.New("invalid header; write it as \"Name: value\"")
	}
	return name, after.trimLeft(), nil
}

// text returns the value of an option that must be known.
func (t *tool) text(name string, value word) (string, error) {
	text, ok := value.literal(t.call.env)
	if !ok {
		return "", fmt.Errorf("the value of %s --%s is a variable; write the value", t.name, name)
	}
	return text, nil
}

// unread says which option's value an error is of.
func (t *tool) unread(name string, err error) error {
	if err != nil {
		return fmt.Errorf("the value of %s --%s is invalid", t.name, name)
	}
	return nil
}

// end refuses a command that is not a whole call; ca is the option of its certificates.
func (t *tool) end(ca string) error {
	switch {
	case !t.hasURL:
		return fmt.Errorf("%s has no URL; write it as https://host/path", t.name)
	case t.call.ca != "" && t.call.ca[0] != '/':
		return fmt.Errorf("%s --%s is a relative path; write an absolute one", t.name, ca)
	case t.quiet:
		t.note(Output, "options about output are not taken over; cronce records the status of each call")
	}
	return nil
}
