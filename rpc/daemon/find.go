package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// LookDirs returns the directories in which the host of dataDir may have its socket. These are the directory in the
// host's record, the RuntimeDirs of this process, and the directories that a host usually chooses if it was started
// with other environment variables.
func LookDirs(dataDir string) []string {
	dirs := append(recorded(dataDir), RuntimeDirs(dataDir)...)
	if runtime.GOOS == "linux" {
		dirs = append(dirs, filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "magicctx"))
	}
	if runtime.GOOS != "windows" {
		dirs = append(dirs, runtimeDirBelow("/tmp"))
	}
	var all []string
	for _, dir := range dirs {
		if !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	return all
}

// Dial connects to the running host of this user. It looks in all LookDirs of the data directory. But if EndpointIn
// made the endpoint, Dial looks only in the runtime directory of that endpoint. If no host is running, the error is
// ErrNoHost.
func Dial(ctx context.Context, e Endpoint) (net.Conn, error) {
	conn, _, err := find(ctx, e)
	return conn, err
}

func find(ctx context.Context, e Endpoint) (net.Conn, Endpoint, error) {
	places := []Endpoint{e}
	if e.data != "" {
		for _, dir := range LookDirs(e.data) {
			if dir != e.dir {
				places = append(places, Endpoint{dir: dir, name: e.name})
			}
		}
		places[0].data = ""
	}
	var noHost, failed error
	for _, at := range places {
		conn, err := dialAt(ctx, at)
		switch {
		case err == nil:
			return conn, at, nil
		case !errors.Is(err, ErrNoHost):
			// A host in another directory may still answer.
			failed = errors.Join(failed, err)
		case noHost == nil:
			noHost = err
		}
	}
	if failed != nil {
		return nil, e, failed
	}
	return nil, e, noHost
}

// recordPath is the path of the record, a file in the data directory that contains the host's runtime directory. With
// it, a client finds the host even if its environment leads to another runtime directory.
func recordPath(dataDir string) string { return filepath.Join(dataDir, "host.at") }

// maxRecordBytes is larger than any path.
const maxRecordBytes = 8 << 10

// record writes the host's runtime directory to the record.
func (e Endpoint) record() error {
	if e.data == "" {
		return nil
	}
	if err := writePrivate(recordPath(e.data), []byte(e.dir+"\n")); err != nil {
		return fmt.Errorf("record the directory of the socket: %w", err)
	}
	return nil
}

// The function `recorded` returns the directory in the record, or none if there is no record. Anybody might have
// changed the record, so it is only a hint: Dial checks that the directory and the host belong to this user.
func recorded(dataDir string) []string {
	path := recordPath(dataDir)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() { // opening a named pipe would block
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxRecordBytes))
	dir := strings.TrimSuffix(string(content), "\n")
	if err != nil || !filepath.IsAbs(dir) {
		return nil
	}
	return []string{dir}
}
