package chronicle

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
)

// A Check is what a memory claims about a file of the project. If the claim does not hold, the memory is doubtful.
type Check struct {
	// Path starts at the root of the project.
	Path string
	// At most one of Text and Hash is set. The file must contain Text, or Hash must be the SHA-256 of its content, in
	// hex. If both are "", it is enough that the file exists.
	Text, Hash string
}

const maxCheck = 300

var (
	hash     = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	errCheck = errors.New(`check is "PATH", "PATH: TEXT" or "PATH: sha256:HASH" in one line of at most 300 bytes, with a path from the root of the project`)
)

// ParseCheck reads a check. Its forms are "PATH", "PATH: TEXT" and "PATH: sha256:HASH", for example
// "Taskfile.yml: go test ./...".
func ParseCheck(text string) (Check, error) {
	path, rest, hasText := strings.Cut(text, ": ")
	c := Check{Path: filepath.ToSlash(filepath.Clean(path)), Text: strings.TrimSpace(rest)}
	if len(text) > maxCheck || strings.ContainsAny(text, "\n\r\x00") || !filepath.IsLocal(path) || hasText && c.Text == "" {
		return c, errCheck
	}
	if strings.HasPrefix(c.Text, "sha256:") {
		if !hash.MatchString(c.Text) {
			return c, errCheck
		}
		c.Text, c.Hash = "", strings.TrimPrefix(c.Text, "sha256:")
	}
	return c, nil
}
