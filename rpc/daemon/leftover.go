package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// leftoverTimeout limits how long isServed waits for a connection. A second is plenty: the system does not wait for the
// host, but answers a dial at once. It accepts the connection if a host listens, and refuses it if not.
const leftoverTimeout = time.Second

// Leftovers returns the sockets and token files in a runtime directory whose hosts were killed. The next host for the
// same endpoint would replace them, but there may never be one. Lock files must stay (see lock), so Leftovers does not
// return them.
func Leftovers(ctx context.Context, runtimeDir string) ([]string, error) {
	if checkOwner(runtimeDir) != nil { // the files of another user must not be examined or removed
		return nil, nil
	}
	entries, err := os.ReadDir(runtimeDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		path := filepath.Join(runtimeDir, entry.Name())
		if e, ok := endpointOf(path); ok && !isServed(ctx, e) {
			found = append(found, path)
		}
	}
	return found, nil
}

// RemoveLeftover removes a file that Leftovers returned. If a host has started at this path in the meantime,
// RemoveLeftover returns an error and keeps the file.
func RemoveLeftover(ctx context.Context, path string) error {
	e, ok := endpointOf(path)
	if !ok {
		return fmt.Errorf("%s is no socket of a host", path)
	}
	ctx, cancel := context.WithTimeout(ctx, leftoverTimeout)
	defer cancel()
	unlock, err := lock(ctx, e.hostLock()) // a host holds this lock until it ends
	if err != nil {
		return err
	}
	defer unlock()
	if isServed(ctx, e) {
		return fmt.Errorf("%s is in use again", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func endpointOf(path string) (Endpoint, bool) {
	for _, suffix := range []string{".sock", ".tcp"} {
		if name, ok := strings.CutSuffix(filepath.Base(path), suffix); ok && name != "" {
			return Endpoint{dir: filepath.Dir(path), name: name}, true
		}
	}
	return Endpoint{}, false
}

// isServed reports whether a host listens at the endpoint, or is about to. If no process listens, the system refuses a
// dial at once. So if the dial times out, a process must be listening, and isServed returns true.
func isServed(ctx context.Context, e Endpoint) bool {
	ctx, cancel := context.WithTimeout(ctx, leftoverTimeout)
	defer cancel()
	conn, err := Dial(ctx, e)
	if err == nil {
		conn.Close()
	}
	return err == nil || ctx.Err() != nil
}
