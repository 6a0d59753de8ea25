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

// Hash returns the SHA-256 of the file of this process, in hex; empty if the file cannot be read. A host calls it when it
// starts, because an update may replace the file while the host runs.
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

// Name returns the command that starts this program: NameOf of its own file.
var Name = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return bareName
	}
	return NameOf(path, exec.LookPath)
})

// NameOf returns the command that starts the program at path. If the PATH leads to the same file, the command is
// magicctx-host. Otherwise it is the path, in quotes if a shell needs them. lookPath finds a program on the PATH.
func NameOf(path string, lookPath func(string) (string, error)) string {
	if found, err := lookPath(bareName); err == nil && IsSameFile(found, path) {
		return bareName
	}
	return Quote(path)
}

// plain matches a path that a shell takes as one word, and in which it expands nothing.
var plain = regexp.MustCompile(`^[\p{L}\p{N}_@%+=:,./-]+$`)

// Quote returns a path as a word of a command line that a user may paste into a shell. A repository chooses the names of
// its directories, so the shell must expand nothing in them. For Windows, which has no single quotes, it uses double quotes.
func Quote(path string) string {
	switch {
	case plain.MatchString(path):
		return path
	case runtime.GOOS == "windows":
		return `"` + path + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// IsSameFile reports whether two paths lead to one file.
func IsSameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
