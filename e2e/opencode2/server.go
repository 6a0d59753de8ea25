package opencode2

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/internal/json"
)

const Variable = "MAGICCTX_OPENCODE2"

const password = "pw"

// On a busy machine, a start takes 8 to 18 s.
const startTimeout = 90 * time.Second

// OpenCode 2 ignores the fields Config and Inline.
type Options struct {
	opencodetest.Options
	// Source is the directory with the beta's source. If it is empty, Start starts the fake.
	Source          string
	Compacts        bool
	TerminalPlugins []string
}

type object = map[string]any

type Server struct {
	PID     int
	options Options
	base    string
	project string
	cmd     *exec.Cmd
	out     *output
	done    chan struct{} // closed when the process has ended
}

// Start starts OpenCode, and waits until it answers. Stop ends the process. If ctx ends, the process is killed.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.writeConfig(); err != nil {
		return nil, fmt.Errorf("start opencode 2: %w", err)
	}
	port, err := opencodetest.FreePort()
	if err != nil {
		return nil, fmt.Errorf("start opencode 2: %w", err)
	}
	cmd := o.command(ctx, "--log-level", "info", "serve", "--hostname", "127.0.0.1", "--port", strconv.Itoa(port))
	if o.Source == "" {
		cmd = o.bun(ctx, o.Project, filepath.Join(o.Repo, "e2e", "opencode2", "fake", "main.ts"), "--port", strconv.Itoa(port))
	}
	cmd.Env = append(cmd.Env, "OPENCODE_PRINT_LOGS=1")
	s := &Server{options: o, base: fmt.Sprintf("http://127.0.0.1:%d", port), project: o.Project, cmd: cmd, out: &output{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = s.out, s.out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start opencode 2: %w", err)
	}
	s.PID = cmd.Process.Pid
	go func() {
		defer close(s.done)
		_ = cmd.Wait() // either we end the process, or the next request fails
	}()
	for deadline := time.Now().Add(startTimeout); ; {
		if s.isReady(ctx) {
			return s, nil
		}
		select {
		case <-s.done:
			return nil, fmt.Errorf("start opencode 2: it ended: %s\n%s", cmd.ProcessState, s.out)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("start opencode 2: no answer after %s\n%s", startTimeout, s.out), s.Stop())
		}
	}
}

// command runs the beta in its own directory, because Bun's settings there load modules that the source needs.
func (o Options) command(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{"run", "--conditions=browser", filepath.Join("src", "index.ts")}, args...)
	return o.bun(ctx, filepath.Join(o.Source, "packages", "cli"), args...)
}

func (o Options) bun(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(o.Repo, "node_modules", ".bin", "bun"), args...)
	cmd.Dir = dir
	cmd.Env = o.Home.Env(dir, append([]string{"OPENCODE_PASSWORD=" + password}, o.Env...)...)
	return cmd
}

func (s *Server) Terminal(ctx context.Context, session *Session, size pitest.Size) (*pitest.Terminal, error) {
	return pitest.OnTerminal(ctx, s.options.command(ctx, "--server", s.base, "--session", session.ID, s.project), size)
}

func (s *Server) isReady(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return s.Call(ctx, http.MethodGet, "/api/health", nil, nil) == nil
}

var models = []string{opencodetest.ClaudeModel, opencodetest.OtherClaudeModel, opencodetest.SmallModel}

func (o Options) writeConfig() error {
	cost := object{"input": 3, "output": 15, "cache": object{"read": cmp.Or(o.ReadPrice, 0.3), "write": 3.75}}
	if o.FlatPrices {
		cost = object{"input": 3, "output": 15, "cache": object{"read": 3, "write": 3}}
	}
	described := object{}
	for _, model := range models {
		_, id, _ := strings.Cut(model, "/")
		described[id] = object{
			"name": id, "capabilities": object{"tools": true, "input": []string{"text", "image"}, "output": []string{"text"}},
			"cost": cost, "limit": cmp.Or(o.LimitsOf[model], o.Limits, opencodetest.DefaultLimits),
		}
	}
	plugins := make([]any, len(o.Plugins))
	for i, p := range o.Plugins {
		plugins[i] = strings.TrimPrefix(p.(string), "file://") // the beta takes the path of a file, too
	}
	config := object{
		"model": opencodetest.ClaudeModel, "autoupdate": false, "share": "disabled", "plugins": plugins, "snapshots": false,
		"permissions": []object{{"action": "*", "resource": "*", "effect": "allow"}},
		"agents":      object{"title": object{"model": opencodetest.SmallModel}},
		"providers": object{opencodetest.AnthropicProvider: object{
			"name": "Mock", "package": "aisdk:@ai-sdk/anthropic", "models": described,
			"settings": object{"apiKey": "k", "baseURL": o.MockURL + "/v1"},
		}},
	}
	if !o.Compacts {
		config["compaction"] = object{"auto": false}
	}
	for name, content := range map[string]any{"opencode.json": config, "cli.json": object{"plugins": append([]string{}, o.TerminalPlugins...)}} {
		raw, err := json.MarshalIndent(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(o.Home.Config, "opencode", name), raw, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) Output() string { return s.out.String() }

func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop opencode 2: %w", err)
	}
	select {
	case <-s.done:
		return nil
	case <-time.After(10 * time.Second):
	}
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill opencode 2: %w", err)
	}
	<-s.done
	return nil
}

// Call sends a request, and decodes the answer's member "data" into `out`. If `out` is nil, Call ignores the answer.
func (s *Server) Call(ctx context.Context, method, path string, in, out any) error {
	raw, err := s.request(ctx, method, path, in)
	if err != nil || out == nil {
		return err
	}
	var envelope struct {
		Data json.Value `json:"data"`
	}
	if json.Unmarshal(raw, &envelope) == nil && len(envelope.Data) > 0 {
		raw = envelope.Data
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s %s: %w: %s", method, path, err, raw)
	}
	return nil
}

func (s *Server) request(ctx context.Context, method, path string, in any) ([]byte, error) {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.SetBasicAuth("opencode", password)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("%s %s: status %d: %s %w", method, path, res.StatusCode, raw, err)
	}
	return raw, nil
}

type output struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
