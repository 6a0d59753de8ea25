//go:build !linux

package store

import (
	"os"
	"runtime"
	"testing"
)

func asNobody(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("file modes do not bind this user")
	}
}
