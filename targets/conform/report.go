package conform

import (
	"encoding/xml"
	"fmt"
	"io"
)

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitMessage `xml:"failure"`
	Skipped   *junitMessage `xml:"skipped"`
	Out       string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report in the XML that CI systems read. An advisory case
// that failed counts as passed, with its detail in system-out.
func (r Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{Name: "cronce conform", Tests: len(r.Results), Failures: r.Count(Failed), Skipped: r.Count(Skipped)}
	var total float64
	for _, result := range r.Results {
		c := junitCase{Name: result.Case, ClassName: "conform", Time: seconds(result.Took.Seconds())}
		about := "rule: " + result.Rule + "\nsource: " + result.Source
		switch result.Outcome {
		case Failed:
			c.Failure = &junitMessage{result.Detail, about}
		case Skipped:
			c.Skipped = &junitMessage{result.Detail, about}
		case Advised:
			c.Out = "advised: " + result.Detail + "\n" + about
		case Passed:
			c.Out = about
		}
		suite.Cases = append(suite.Cases, c)
		total += result.Took.Seconds()
	}
	suite.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }
