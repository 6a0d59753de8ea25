package main

import (
	"context"
	"errors"
	"os/signal"
	"syscall"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/internal/logfile"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
)

type serveCmd struct {
	dataDirFlag
	LogFile  string         `help:"Log to this file instead of stderr." type:"path" placeholder:"FILE"`
	IdleExit *time.Duration `help:"End this long after the last client has left; 0 stays. Default: idle_exit_minutes of the configuration." placeholder:"DURATION"`
}

// Run serves clients until the last client has disconnected or a signal ends the process.
func (cmd *serveCmd) Run(ctx context.Context, c *cli, s streams, build hostBuilder) error {
	signal.Ignore(syscall.SIGHUP) // the terminal that started this process may be closed

	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	if err := createDataDir(dir); err != nil {
		return err
	}
	logTo := s.err
	if cmd.LogFile != "" {
		file, err := logfile.Open(cmd.LogFile)
		if err == nil {
			defer file.Close()
			logTo = file
		} else { // the host works without a log, and status shows a warning
			printError(s.err, err)
		}
	}
	log := terminal.NewLogger(logTo, c.LogLevel)

	endpoint, err := daemon.NewEndpoint(dir)
	if err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	lock, err := daemon.LockHost(starting, endpoint)
	if err != nil {
		return err
	}
	defer lock.Release()
	options := hostOptions{DataDir: dir, Log: log}
	h, closeHost, err := build(ctx, options)
	if err != nil {
		log.Error("host does not start", "cause", err)
		return err
	}
	defer closeHost()
	// The host listens only now, when it is complete. So it can serve every client that connects.
	listener, err := lock.Listen(ctx)
	if err != nil {
		log.Error("host does not start", "cause", err)
		return err
	}
	idle := idleExit(options)
	if cmd.IdleExit != nil {
		idle = *cmd.IdleExit
	}
	go program.Hash() // hash the file now, because an update may soon replace it
	log.Info("host started", "version", rpc.Version, "data", dir, "transport", listener.Transport(), "address", listener.Address())
	if listener.Unrecorded != nil {
		log.Warn("a shell with another environment may not find this host", "cause", listener.Unrecorded)
	}
	err = daemon.Serve(ctx, rpc.NewServer(h, rpc.Options{Log: log}), listener, daemon.ServeOptions{Log: log, Idle: idle})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
