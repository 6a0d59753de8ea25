package program

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"strconv"
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

// Quote returns a path as a word of a shell's command line.
func Quote(path string) string {
	if strings.ContainsAny(path, ` '"$\*`) {
		return strconv.Quote(path)
	}
	return path
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
