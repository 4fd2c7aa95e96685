package postgres

// CheckURL reads a database's URL and connects to nothing. It returns an error
// when Open could not read it either; the error does not show the URL.
func CheckURL(url string) error {
	_, err := defaults(nil).config(url)
	return err
}
