package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/cmd/magicctx-host/traces"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
)

// startTimeout is long, because a new host may have to wait until the old host has ended, and then to migrate the
// database.
const startTimeout = 30 * time.Second

type stdioCmd struct {
	dataDirFlag
	Solo  bool   `help:"Serve in this process instead of connecting to the shared host."`
	Trace string `help:"Record every message into a file in this directory ($$MAGICCTX_TRACE)." type:"path" placeholder:"DIR"`
}

// Run connects the harness at stdin and stdout to a host.
func (cmd *stdioCmd) Run(ctx context.Context, c *cli, s streams, build hostBuilder) error {
	if terminal.Is(s.in) {
		return errors.New("stdio is how a plugin of OpenCode or Pi speaks to this program; " +
			"there is nothing to type here. To see what it does: " + program.Name() + " status")
	}
	// A terminal sends these signals to the harness and to this process. This process ignores them, because the harness
	// may send last frames before it exits. This process ends when stdin is closed.
	signal.Ignore(os.Interrupt, syscall.SIGHUP)

	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	if err := createDataDir(dir); err != nil {
		return err
	}
	log := terminal.NewLogger(s.err, c.LogLevel)
	rec := cmd.recorder(dir, log)
	if rec != nil {
		defer rec.Close()
	}
	if cmd.Solo {
		return cmd.serveSolo(ctx, build, dir, s, rec, log)
	}
	if rec != nil {
		rec.ExportFrom(func(ctx context.Context) (io.ReadWriteCloser, error) {
			endpoint, err := daemon.NewEndpoint(dir)
			if err != nil {
				return nil, err
			}
			return daemon.Dial(ctx, endpoint)
		})
	}
	host, err := cmd.connect(ctx, c, dir)
	if err != nil {
		return err
	}
	log.Debug("connected to the host", "transport", host.RemoteAddr().Network(), "address", host.RemoteAddr().String())
	return daemon.Bridge(ctx, shim(s), host, rec)
}

// If traces are off or cannot be written, for example on a full disk, recorder returns nil.
func (cmd *stdioCmd) recorder(dataDir string, log *slog.Logger) *rpc.Recorder {
	dir := cmp.Or(cmd.Trace, os.Getenv(traces.Variable))
	if dir == "" {
		if !isTraceOn(dataDir) {
			return nil
		}
		dir = traces.Dir(dataDir)
	}
	rec, err := rpc.NewRecorder(dir, wallClock(), log)
	if err != nil {
		log.Warn("no trace is recorded", "directory", dir, "cause", err)
		return nil
	}
	return rec
}

func (cmd *stdioCmd) connect(ctx context.Context, c *cli, dir string) (net.Conn, error) {
	endpoint, err := daemon.NewEndpoint(dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	log := logPath(dir)
	host, err := daemon.Connect(ctx, endpoint, func() (<-chan error, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return daemon.Spawn(self, []string{"serve", "--data-dir", dir, "--log-file", log, "--log-level", c.LogLevel.String()}, log)
	})
	if err != nil {
		return nil, fmt.Errorf("%w; see %s", err, log)
	}
	return host, nil
}

// serveSolo serves one harness, without a shared host.
func (cmd *stdioCmd) serveSolo(ctx context.Context, build hostBuilder, dir string, s streams, rec *rpc.Recorder, log *slog.Logger) error {
	h, closeHost, err := build(ctx, hostOptions{DataDir: dir, Log: log})
	if err != nil {
		return err
	}
	defer closeHost()
	server := rpc.NewServer(h, rpc.Options{Log: log})
	if rec == nil {
		server.ServeConn(ctx, shim(s))
		return nil
	}
	var served sync.WaitGroup
	connect := func() io.ReadWriteCloser {
		ours, theirs := rpc.Pipe()
		served.Go(func() { server.ServeConn(ctx, ours) })
		return theirs
	}
	rec.ExportFrom(func(context.Context) (io.ReadWriteCloser, error) { return connect(), nil })
	err = daemon.Bridge(ctx, shim(s), connect(), rec)
	served.Wait()
	if errors.Is(err, daemon.ErrHostGone) { // the harness has asked the host to shut down
		return nil
	}
	return err
}

type stdio struct {
	io.Reader
	io.Writer
}

func shim(s streams) io.ReadWriteCloser { return stdio{s.in, s.out} }

func (s stdio) Close() error {
	var errs []error
	for _, end := range []any{s.Reader, s.Writer} {
		if c, ok := end.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
