package rpc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// leftoverTimeout bounds the wait for an answer to a connection, which the
// system gives at once where somebody listens.
const leftoverTimeout = time.Second

// Leftovers returns the sockets and token files in a runtime directory that
// nobody listens at: their hosts were killed. A host that starts replaces its
// own. Lock files stay for ever and are none; see lock.
func Leftovers(ctx context.Context, runtimeDir string) ([]string, error) {
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

// RemoveLeftover removes what Leftovers found, unless a host has begun to serve
// there in between.
func RemoveLeftover(ctx context.Context, path string) error {
	e, ok := endpointOf(path)
	if !ok {
		return fmt.Errorf("%s is no socket of a host", path)
	}
	ctx, cancel := context.WithTimeout(ctx, leftoverTimeout)
	defer cancel()
	unlock, err := lock(ctx, e.hostLock()) // held by a host for as long as it lives
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

// endpointOf returns the endpoint that a socket or token file belongs to.
func endpointOf(path string) (Endpoint, bool) {
	for _, suffix := range []string{".sock", ".tcp"} {
		if name, ok := strings.CutSuffix(filepath.Base(path), suffix); ok && name != "" {
			return Endpoint{dir: filepath.Dir(path), name: name}, true
		}
	}
	return Endpoint{}, false
}

// isServed tells whether somebody listens at the endpoint. That it takes long
// means yes: the system refuses at once where nobody does.
func isServed(ctx context.Context, e Endpoint) bool {
	ctx, cancel := context.WithTimeout(ctx, leftoverTimeout)
	defer cancel()
	conn, err := Dial(ctx, e)
	if err == nil {
		conn.Close()
	}
	return err == nil || ctx.Err() != nil
}
