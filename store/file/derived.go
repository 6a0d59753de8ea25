package file

import (
	"context"
	"os"
	"testing"
)

// These functions are for packages with other SQLite files, for example the index of messages. Such a file can be
// rebuilt from other data, so it needs neither migrations nor copies.

// Classify wraps an error of SQLite in one of this package's errors, so that callers can test for it.
func Classify(ctx context.Context, err error) error { return explain(ctx, err) }

// IsDamage reports whether an error means that a file is a damaged database, or no database at all.
func IsDamage(err error) bool { return meansDamage(err) }

// Under go test, RefuseReal returns an error if `dir` holds the real data of the user who runs the test.
func RefuseReal(dir string) error {
	if !testing.Testing() {
		return nil
	}
	return refuseReal(dir, os.TempDir(), os.Getenv)
}
