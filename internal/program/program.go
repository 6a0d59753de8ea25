package program

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

const bareName = "magicctx-host"

// Hash is the SHA-256 of this process's file in hex, or empty if the file cannot be read. An update may replace
// the file while the host runs, so a host calls Hash at its start.
var Hash = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
})

// Name returns the command that starts this program.
var Name = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return bareName
	}
	return NameOf(path, exec.LookPath)
})

// NameOf returns the word with which the user can start the program at `path` from a shell. This is "magicctx-host" if
// that name on the PATH leads to the same program. Otherwise it is the path, quoted if necessary. lookPath searches the
// PATH.
func NameOf(path string, lookPath func(string) (string, error)) string {
	if found, err := lookPath(bareName); err == nil && IsSameFile(found, path) {
		return bareName
	}
	return Quote(path)
}

// The pattern `plain` matches a path that a shell reads as one word, without expanding anything.
var plain = regexp.MustCompile(`^[\p{L}\p{N}_@%+=:,./-]+$`)

// Quote returns a path as one word of a shell command that the user may paste. A stranger's repository may
// contain a directory with the name "$(rm x)", so the shell must expand nothing. Windows has no single quotes,
// so Quote uses double quotes there.
func Quote(path string) string {
	switch {
	case plain.MatchString(path):
		return path
	case runtime.GOOS == "windows":
		return `"` + path + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func IsSameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
