//go:build unix

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The program opens a pipe that has no writer. So it blocks in a system call that no context can interrupt, and the
// first signal does not end it. The second signal must.
func TestHostileCloneSecondSignalEndsTheProgram(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "trace.jsonl")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("magicctx-host", "replay", pipe)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			giveUp := time.After(patience)
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			var writer *os.File // the program has opened its end of the pipe when this open returns
			for {
				select {
				case err := <-ended:
					if got := cmd.ProcessState.ExitCode(); writer == nil || got != exitSignal+int(s) {
						t.Errorf("the program ended with %d (%v)\n%s", got, err, stderr.String())
					}
					return
				case <-tick.C:
					if writer != nil {
						_ = cmd.Process.Signal(s)
					} else if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
						writer = f
						defer f.Close()
					}
				case <-giveUp:
					t.Fatalf("the program goes on after many signals\n%s", stderr.String())
				}
			}
		})
	}
}

// After an installation by root, all new files in the user's home must belong to the user.
func TestRootInstallLeavesFilesOfTheUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can install for another user")
	}
	const user = 12345
	for _, args := range [][]string{{}, {"--project"}} {
		c := newClone(t)
		c.write("home/.config/opencode/opencode.json", "{}")
		c.write("project/opencode.json", "{}")
		err := filepath.WalkDir(c.root, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, user, user))
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, errs, code := c.command(append([]string{"install", "opencode", "--yes", "--plugin", spec}, args...)...); code != exitOK {
			t.Fatal(errs)
		}
		err = filepath.WalkDir(c.root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err == nil && info.Sys().(*syscall.Stat_t).Uid != user {
				t.Errorf("%s belongs to user %d", path, info.Sys().(*syscall.Stat_t).Uid)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
