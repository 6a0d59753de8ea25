//go:build !linux

package store

import (
	"os"
	"runtime"
	"testing"
)

// asNobody skips the test if file modes do not restrict this user.
func asNobody(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("file modes do not bind this user")
	}
}
