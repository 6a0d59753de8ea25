package store

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Suppose that the database file is deleted or replaced while the store has it open. A write into the old file would be
// lost without an error. So the write must fail.
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
			err := s.RequestFlush(t.Context(), key, 2)
			assertIs(t, err, ErrCannotPersist)
			if got := Reason(fmt.Errorf("store the decisions of request 2: %w", err)); !strings.HasPrefix(got, "the database cannot be written: ") || !strings.Contains(got, "; put it back") {
				t.Errorf("the user reads %q", got)
			}

			must(t, os.Rename(s.Path()+".kept", s.Path()))
			must(t, s.RequestFlush(t.Context(), key, 3))
		})
	}
}
