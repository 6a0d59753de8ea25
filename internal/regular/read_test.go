package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path  string
		limit int64
		want  string
		err   error
	}{
		{file, 5, "12345", nil},
		{file, 4, "", ErrTooLarge},
		{filepath.Join(dir, "none"), 5, "", fs.ErrNotExist},
		{dir, 1 << 20, "", ErrNotRegular},
	} {
		if got, err := Read(test.path, test.limit); string(got) != test.want || !errors.Is(err, test.err) {
			t.Errorf("Read(%s, %d) = %q, %v; want %q, %v", test.path, test.limit, got, err, test.want, test.err)
		}
	}
	if got, err := Prefix(file, 4); string(got) != "1234" || err != nil {
		t.Errorf("the prefix is %q, %v", got, err)
	}
}
