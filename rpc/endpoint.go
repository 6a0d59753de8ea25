package rpc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// An Endpoint is where the host of a data directory is reached. Each data
// directory has its own.
type Endpoint struct {
	dir  string // the runtime directory
	name string // of the data directory in it
}

// NewEndpoint returns the endpoint of the host of dataDir, whether or not one
// runs. It creates the runtime directory: magicctx below XDG_RUNTIME_DIR if that
// is ours, else magicctx-<uid> below the system's directory for temporary files,
// else run in dataDir.
func NewEndpoint(dataDir string) (Endpoint, error) {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return Endpoint{}, err
	}
	dir, err := runtimeDir(dataDir)
	if err != nil {
		return Endpoint{}, fmt.Errorf("no directory for the socket: %w", err)
	}
	if real, err := filepath.EvalSymlinks(dataDir); err == nil {
		dataDir = real
	}
	sum := sha256.Sum256([]byte(dataDir))
	return Endpoint{dir: dir, name: hex.EncodeToString(sum[:4])}, nil
}

// String returns the path of the socket.
func (e Endpoint) String() string { return e.socket() }

func (e Endpoint) socket() string { return filepath.Join(e.dir, e.name+".sock") }

// tcp is the file with address and token of a host that has no socket.
func (e Endpoint) tcp() string { return filepath.Join(e.dir, e.name+".tcp") }

// hostLock is held by the host for as long as it lives.
func (e Endpoint) hostLock() string { return filepath.Join(e.dir, e.name+".lock") }

// startLock is held by the one bridge that starts a host.
func (e Endpoint) startLock() string { return filepath.Join(e.dir, e.name+".start") }

// RuntimeDir returns the runtime directory, whether or not it exists and is fit.
func RuntimeDir() string {
	if base := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) && checkOwner(base) == nil {
		return filepath.Join(base, "magicctx")
	}
	return temporaryRuntimeDir()
}

func temporaryRuntimeDir() string {
	return filepath.Join(os.TempDir(), "magicctx-"+strconv.Itoa(os.Getuid()))
}

// runtimeDir returns the first directory that is fit: RuntimeDir, else that of
// temporary files, else one in the data directory. It asks the file system
// again each time, and everybody gets the same answer.
func runtimeDir(dataDir string) (string, error) {
	var unfit error
	for _, path := range []string{RuntimeDir(), temporaryRuntimeDir(), filepath.Join(dataDir, "run")} {
		dir, err := privateDir(path)
		if err == nil {
			err = checkWritable(dir)
		}
		if err == nil {
			return dir, nil
		}
		if unfit == nil {
			unfit = err
		} else {
			unfit = fmt.Errorf("%w; %w", unfit, err) // one line: the shim shows it
		}
	}
	return "", unfit
}

// checkWritable creates a file, because a mode says nothing of a read-only file
// system.
func checkWritable(dir string) error {
	file, err := os.CreateTemp(dir, "probe.*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// privateDir makes path a directory that nobody else can look into, and refuses
// one that somebody else made: the directory for temporary files is everybody's.
func privateDir(path string) (string, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	if err := checkOwner(path); err != nil {
		return "", err
	}
	return path, checkPrivate(path)
}
