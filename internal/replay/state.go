package replay

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/export"
)

// The method `lacks` adds a fact to the list of missing facts: the recorded passes depended on this fact, but the
// trace does not contain it.
func (p *player) lacks(text string, args ...any) {
	if what := fmt.Sprintf(text, args...); !slices.Contains(p.report.Missing, what) {
		p.report.Missing = append(p.report.Missing, what)
	}
}

// load gives the replay's host the facts that the recorded host knew before the session's next pass.
func (p *player) load(ctx context.Context, s step) error {
	var e rpc.RecordedExport
	if err := json.Unmarshal(s.params, &e); err != nil {
		return err
	}
	if e.Result == nil {
		p.lacks("the configuration and the earlier state of session %s: %s", e.Params.Session, e.Error)
		p.session(e.Params.Session).hasState = true // lacks has already reported the missing state
		return nil
	}
	if err := p.configure(ctx, e.Params.Directory, e.Result.Config); err != nil {
		return err
	}
	ses := p.session(e.Params.Session)
	if ses.hasState || ses.isSeen {
		if n := e.Result.Passes - ses.passes; n > 0 {
			p.lacks("%s of session %s that another connection made", format.Count(n, "request"), e.Params.Session)
		}
		return nil
	}
	tables, err := tablesOf(e.Result.Tables)
	if err != nil {
		return err
	}
	if err := export.Into(ctx, p.store, tables); err != nil {
		return err
	}
	ses.hasState, ses.isContinued, ses.passes = true, e.Result.Passes > 0, e.Result.Passes
	_, err = p.publishedSince(ctx, ses, e.Params.Session) // skip the publications from before the trace
	return err
}

// configure uses the recorded configuration of a directory, unless the caller has chosen one.
func (p *player) configure(ctx context.Context, directory string, recorded json.Value) error {
	if p.isConfigGiven || len(recorded) == 0 {
		return nil
	}
	var c schema.Config
	if err := json.Unmarshal(recorded, &c); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	p.overrides.configure(&c)
	p.mu.Lock()
	p.configs[directory] = c
	p.mu.Unlock()
	opened, ok := p.opened[directory]
	if !ok {
		return nil // the host reads the configuration when it first needs it
	}
	return p.client.Call(ctx, schema.MethodInitialize, opened, nil) // initialize again, so that the host reads the new configuration
}

// The recorder asks for a configuration just before the first pass, but the host may need the configuration earlier,
// for a system prompt. So configureFirst sets the first recorded configuration of each directory from the start.
func (p *player) configureFirst(ctx context.Context) error {
	for _, s := range p.trace.steps {
		var e rpc.RecordedExport
		if s.method != schema.MethodSessionExport || json.Unmarshal(s.params, &e) != nil || e.Result == nil {
			continue
		}
		if _, isKnown := p.configs[e.Params.Directory]; isKnown {
			continue
		}
		if err := p.configure(ctx, e.Params.Directory, e.Result.Config); err != nil {
			return err
		}
	}
	return nil
}

// The host calls configOf from its own goroutines, too.
func (p *player) configOf(directory string) schema.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.configs[directory]; ok {
		return c
	}
	return p.config
}

func (p *player) loadConfig(_ schema.Harness, directory string) (schema.Config, []config.Warning) {
	return p.configOf(directory), nil
}

// checkState is called after a session's first pass in the replay, which has the cause `cause`. If the trace lacks the
// configuration or the session's earlier state, checkState reports this.
func (p *player) checkState(s step, params schema.TransformParams, ses *session, cause string) {
	if ses.hasState {
		return
	}
	ses.hasState = true
	if !p.isConfigGiven {
		p.lacks("the configuration")
	}
	const first = "first-pass"
	if recorded := s.recorded(); cause == first && recorded.Verdict != "" && recorded.Cause != first {
		p.lacks("the earlier state of session %s", params.Session)
	}
}

func tablesOf(recorded []schema.ExportedTable) ([]export.Table, error) {
	tables := make([]export.Table, len(recorded))
	for i, t := range recorded {
		tables[i] = export.Table{Name: t.Name, Columns: t.Columns, Rows: make([][]any, len(t.Rows))}
		for j, row := range t.Rows {
			tables[i].Rows[j] = make([]any, len(row))
			for k, raw := range row {
				value, err := valueOf(raw)
				if err != nil {
					return nil, fmt.Errorf("state: table %s: %w", t.Name, err)
				}
				tables[i].Rows[j][k] = value
			}
		}
	}
	return tables, nil
}

// valueOf keeps whole numbers exact. A float64 would round a large one.
func valueOf(raw json.Value) (any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, nil
	}
	if raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err
	}
	var n float64
	err := json.Unmarshal(raw, &n)
	return n, err
}

func recordedConfig(open func() (io.ReadCloser, error)) (schema.Config, error) {
	c := config.Default()
	r, err := open()
	if err != nil {
		return c, err
	}
	defer r.Close()
	t, err := read(r)
	if err != nil {
		return c, err
	}
	for _, s := range t.steps {
		var e rpc.RecordedExport
		if s.method != schema.MethodSessionExport || json.Unmarshal(s.params, &e) != nil || e.Result == nil {
			continue
		}
		return c, json.Unmarshal(e.Result.Config, &c)
	}
	return c, nil
}
