package daemon

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLeftoversHaveNoListeningHost(t *testing.T) {
	dir, err := os.MkdirTemp("", "mch") // the path of t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	alive, err := net.Listen("unix", filepath.Join(dir, "0000aaaa.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "0000bbbb.sock"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false) // a killed host leaves its socket behind
	dead.Close()
	for name, content := range map[string]string{"0000cccc.tcp": `{"address":"127.0.0.1:1","token":"x"}`, "0000bbbb.lock": "", "0000bbbb.start": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Leftovers(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "0000bbbb.sock"), filepath.Join(dir, "0000cccc.tcp")}
	if !slices.Equal(found, want) {
		t.Fatalf("found %q, want %q", found, want)
	}
	for _, path := range found {
		if err := RemoveLeftover(t.Context(), path); err != nil {
			t.Error(err)
		}
	}
	if err := RemoveLeftover(t.Context(), filepath.Join(dir, "0000aaaa.sock")); err == nil {
		t.Error("a socket in use was removed")
	}
	if found, err = Leftovers(t.Context(), dir); err != nil || len(found) > 0 {
		t.Errorf("after removal: %q, %v", found, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "0000aaaa.sock")); err != nil {
		t.Error(err)
	}
	if found, err = Leftovers(t.Context(), filepath.Join(dir, "none")); err != nil || len(found) > 0 {
		t.Errorf("without a directory: %q, %v", found, err)
	}
}

// A starting host locks its lock file before it listens. While the lock is held, its socket is not a leftover.
func TestLeftoverOfAStartingHostStays(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "0000dddd.sock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := LockHost(t.Context(), Endpoint{dir: dir, name: "0000dddd"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if err := RemoveLeftover(t.Context(), path); err == nil {
		t.Error("removed under the eyes of its host")
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
