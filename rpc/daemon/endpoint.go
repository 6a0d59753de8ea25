package daemon

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

// An Endpoint says where clients can reach the host of a data directory, for example at the socket
// $XDG_RUNTIME_DIR/magicctx/NAME.sock.
type Endpoint struct {
	dir  string // the runtime directory
	name string // the name of the data directory within dir
	// `data` is the data directory. If it is empty, Dial looks only in `dir`.
	data string
}

// NewEndpoint returns the endpoint at which this process would serve dataDir. It creates the endpoint's directory,
// which is the first usable one of RuntimeDirs. Dial also finds a host that was started with other environment
// variables and therefore listens in another directory.
func NewEndpoint(dataDir string) (Endpoint, error) {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return Endpoint{}, err
	}
	dir, err := runtimeDir(dataDir)
	if err != nil {
		return Endpoint{}, fmt.Errorf("no directory for the socket: %w", err)
	}
	e := EndpointIn(dir, dataDir)
	e.data = dataDir
	return e, nil
}

// EndpointIn returns the endpoint of dataDir's host in runtimeDir. Dial then looks only in runtimeDir. dataDir must be
// absolute. EndpointIn creates nothing.
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

// If a host cannot listen on a Unix socket, it writes its address and its token into a token file. The method `tcp`
// returns the path of this file.
func (e Endpoint) tcp() string { return filepath.Join(e.dir, e.name+".tcp") }

// A host holds hostLock until it ends.
func (e Endpoint) hostLock() string { return filepath.Join(e.dir, e.name+".lock") }

// A bridge holds startLock while it starts a host.
func (e Endpoint) startLock() string { return filepath.Join(e.dir, e.name+".start") }

// dataLock prevents two hosts from serving the same data directory in different runtime directories. For example, the
// second host may have been started without XDG_RUNTIME_DIR.
func (e Endpoint) dataLock() string { return filepath.Join(e.data, "host.lock") }

// RuntimeDirs returns the directories in which this process would put the socket of dataDir's host, best first:
//
//	$XDG_RUNTIME_DIR/magicctx    if XDG_RUNTIME_DIR belongs to this user
//	$TMPDIR/magicctx-<uid>       below the system's directory for temporary files
//	<dataDir>/run
//
// It does not check whether these directories exist or can be used.
func RuntimeDirs(dataDir string) []string {
	dirs := []string{temporaryRuntimeDir(), filepath.Join(dataDir, "run")}
	if base := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) && checkOwner(base) == nil {
		dirs = slices.Insert(dirs, 0, filepath.Join(base, "magicctx"))
	}
	return dirs
}

// CheckRuntimeDir returns an error if no host can have its socket in dir. It creates nothing, so it has to trust the
// permissions that the system reports.
func CheckRuntimeDir(dir string) error {
	err := checkOwner(dir)
	if errors.Is(err, os.ErrNotExist) { // a host creates the directory when it starts
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

func temporaryRuntimeDir() string { return runtimeDirBelow(os.TempDir()) }

func runtimeDirBelow(temporary string) string {
	return filepath.Join(temporary, "magicctx-"+strconv.Itoa(os.Getuid()))
}

// runtimeDir examines the file system on each call and stores nothing, so that bridge and host find the same directory.
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
			unfit = fmt.Errorf("%w; %w", unfit, err) // one line, because the shim shows the message to the user
		}
	}
	return "", unfit
}

// checkWritable creates and removes a file, because permissions do not show whether a file system is read-only.
func checkWritable(dir string) error {
	file, err := os.CreateTemp(dir, "probe.*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// privateDir creates a directory that only this user can read. Anybody may create directories in the system's directory
// for temporary files, so privateDir refuses a directory of another user.
func privateDir(path string) (string, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	if err := checkOwner(path); err != nil {
		return "", err
	}
	return path, checkPrivate(path)
}
