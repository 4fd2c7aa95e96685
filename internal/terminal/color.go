package terminal

// Color is one of the eight that every terminal has, or a weight.
type Color string

const (
	Plain  Color = ""
	Red    Color = "31"
	Green  Color = "32"
	Yellow Color = "33"
	Blue   Color = "34"
	Faint  Color = "2"
)

// Paint returns the text in a color.
func (c Color) Paint(text string) string {
	if c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
