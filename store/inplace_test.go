package store

import (
	"os"
	"testing"
)

// A write into a file that was deleted or replaced would be lost without a word.
func TestWriteIntoADatabaseThatIsGoneFails(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced": func(path string) error {
			return os.Rename(path+".other", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openIn(t, t.TempDir())
			key := Key{Harness: "opencode", Session: "s"}
			must(t, s.RequestFlush(t.Context(), key, 1))
			must(t, os.WriteFile(s.Path()+".other", nil, 0o600))
			must(t, os.Link(s.Path(), s.Path()+".kept"))
			must(t, change(s.Path()))
			assertIs(t, s.RequestFlush(t.Context(), key, 2), ErrCannotPersist)

			must(t, os.Rename(s.Path()+".kept", s.Path()))
			must(t, s.RequestFlush(t.Context(), key, 3))
		})
	}
}
