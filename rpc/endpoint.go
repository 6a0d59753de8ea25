package rpc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// An Endpoint is where the host of a data directory is reached. Each data
// directory has its own.
type Endpoint struct {
	dir  string // the runtime directory
	name string // of the data directory in it
}

// NewEndpoint returns the endpoint of the host of dataDir, whether or not one
// runs. It creates the runtime directory, the first of RuntimeDirs that is fit.
func NewEndpoint(dataDir string) (Endpoint, error) {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return Endpoint{}, err
	}
	dir, err := runtimeDir(dataDir)
	if err != nil {
		return Endpoint{}, fmt.Errorf("no directory for the socket: %w", err)
	}
	return EndpointIn(dir, dataDir), nil
}

// EndpointIn returns the endpoint of the host of dataDir, which is absolute, in
// one of its RuntimeDirs. It makes nothing.
func EndpointIn(runtimeDir, dataDir string) Endpoint {
	if real, err := filepath.EvalSymlinks(dataDir); err == nil {
		dataDir = real
	}
	sum := sha256.Sum256([]byte(dataDir))
	return Endpoint{dir: runtimeDir, name: hex.EncodeToString(sum[:4])}
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

// RuntimeDirs returns the directories in which the host of dataDir may have its
// socket, best first, whether or not they exist and are fit: magicctx below
// XDG_RUNTIME_DIR if that is ours, magicctx-<uid> below the system's directory
// for temporary files, run in dataDir.
func RuntimeDirs(dataDir string) []string {
	dirs := []string{temporaryRuntimeDir(), filepath.Join(dataDir, "run")}
	if base := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) && checkOwner(base) == nil {
		dirs = slices.Insert(dirs, 0, filepath.Join(base, "magicctx"))
	}
	return dirs
}

// CheckRuntimeDir returns why no host can have its socket in dir, nil when one
// can. Unlike NewEndpoint it makes nothing, so it has to believe what the system
// says of permissions.
func CheckRuntimeDir(dir string) error {
	err := checkOwner(dir)
	if errors.Is(err, os.ErrNotExist) { // a host makes it
		return checkAccess(filepath.Dir(dir))
	}
	if err != nil {
		return err
	}
	if err := checkPrivate(dir); err != nil {
		return err
	}
	return checkAccess(dir)
}

func temporaryRuntimeDir() string {
	return filepath.Join(os.TempDir(), "magicctx-"+strconv.Itoa(os.Getuid()))
}

// runtimeDir returns the first directory that is fit. It asks the file system
// again each time, and everybody gets the same answer.
func runtimeDir(dataDir string) (string, error) {
	var unfit error
	for _, path := range RuntimeDirs(dataDir) {
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
