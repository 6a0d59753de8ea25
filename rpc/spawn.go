package rpc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Spawn starts a program that outlives this process and its terminal. What it
// prints goes to the file at logPath, in whose directory it runs. The channel tells when, if ever, it ends.
func Spawn(program string, args []string, logPath string) (ended <-chan error, err error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		// On a read-only file system the host can still say what is wrong.
		if log, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
			return nil, fmt.Errorf("open log: %w", err)
		}
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = detached()
	cmd.Dir = filepath.Dir(logPath) // not the project's: it may have to be removed or unmounted
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exit := make(chan error, 1)
	go func() { exit <- cmd.Wait() }()
	return exit, nil
}
