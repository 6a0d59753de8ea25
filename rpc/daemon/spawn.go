package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Spawn starts a program that continues after this process and its terminal have ended. The program's output goes to
// the file at logPath, and its working directory is the directory of that file. When the program ends, `ended` receives
// its error.
func Spawn(program string, args []string, logPath string) (ended <-chan error, err error) {
	err = refusePipe(logPath)
	var log *os.File
	if err == nil {
		log, err = os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	}
	if err != nil {
		// On a read-only file system, the host starts without a log, so that it can report the problem.
		if log, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
			return nil, fmt.Errorf("open log: %w", err)
		}
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = detached()
	cmd.Dir = filepath.Dir(logPath) // the user may want to remove or unmount the project's directory
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exit := make(chan error, 1)
	go func() { exit <- cmd.Wait() }()
	return exit, nil
}

// refusePipe returns an error if the file is a named pipe, because opening a pipe blocks until another process opens
// its other end.
func refusePipe(path string) error {
	if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return fmt.Errorf("%s is a named pipe, not a file", path)
	}
	return nil
}
