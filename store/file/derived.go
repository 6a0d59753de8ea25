package file

import (
	"context"
	"os"
	"testing"
)

// Packages for other SQLite files use these functions, for example for the index of messages. That file can be made
// again from other data, so it needs no migrations and no copies.

// Classify adds to an error of SQLite the error of this package for which callers test.
func Classify(ctx context.Context, err error) error { return explain(ctx, err) }

// IsDamage reports whether an error means that a database is damaged or is no database.
func IsDamage(err error) bool { return meansDamage(err) }

// RefuseReal fails under go test if dir holds the real data of the user who runs the test.
func RefuseReal(dir string) error {
	if !testing.Testing() {
		return nil
	}
	return refuseReal(dir, os.TempDir(), os.Getenv)
}
