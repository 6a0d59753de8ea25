package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

// The test itself plays the harness and calls the host through a pipe, without OpenCode or Pi. So the week takes only a
// second.
func TestWeekOverAPipe(t *testing.T) {
	testWeek(t, schema.HarnessOpenCode, func(w *week) player { return &pipe{week: w} })
}

// The harness is killed while a hidden agent asks one of its questions, and its host ends with it. The test chooses the
// question at random. After the user has started the harness again, the week must end in the same state as without the
// kill.
func TestWeekWithoutItsHarness(t *testing.T) {
	t.Parallel()
	killAt := 1 + rand.New(rand.NewPCG(*killSeed, 3)).IntN(weekQuestions)
	w := newWeek(t, schema.HarnessOpenCode, killAt, `{"dreamer": {}}`, func(w *week) player { return &pipe{week: w, leaves: true} })
	w.live()
	w.wantEnd()
}

// After each /ctx-dream, the host is killed at a random moment, which may be within a task of the dreamer, between two
// tasks or after the last one.
func TestRoughWeekOverAPipe(t *testing.T) {
	rounds := 2
	if suite.All() {
		rounds = 20
	}
	random := rand.New(rand.NewPCG(*killSeed, 2))
	for i := range rounds {
		delays := []time.Duration{time.Duration(random.Int64N(int64(rough))), time.Duration(random.Int64N(int64(rough)))}
		t.Run(fmt.Sprint(i, " ", delays), func(t *testing.T) {
			needs(t, schema.HarnessOpenCode)
			t.Parallel()
			w := newWeek(t, schema.HarnessOpenCode, 0, `{"dreamer": {}}`, func(w *week) player { return &pipe{week: w, delays: delays} })
			w.isRough = true
			w.live()
			w.wantEnd()
		})
	}
}

// A run of the dreamer takes about 60 ms, so a kill may hit any part of it.
const rough = 60 * time.Millisecond

// A pipe plays a harness that starts a host of its own for each session.
type pipe struct {
	*week
	host     *exec.Cmd
	input    io.Closer // the host's
	leaves   bool      // the harness is killed, and not the host
	client   *rpc.Client
	told     chan string // the notices
	project  string
	session  string
	sessions int
	messages []string
	used     []usage
	delays   []time.Duration // for each command, the time from the command to the kill of the host
}

type usage struct{ input, output, read, write int }

func (u usage) dollars() float64 {
	return (float64(u.input)*sonnet.Fresh + float64(u.output)*sonnet.Output + float64(u.read)*sonnet.Read + float64(u.write)*sonnet.Write) / 1e6
}

var sonnet = schema.Price{Fresh: 3, Output: 15, Read: 0.3, Write: 3.75} // $ per million tokens

func (p *pipe) prompts() (dollars float64) {
	for _, u := range p.used {
		dollars += u.dollars()
	}
	return dollars
}

func (p *pipe) connect() {
	p.t.Helper()
	p.host = exec.CommandContext(p.ctx, p.user.Product.Host, "stdio", "--solo", "--data-dir", p.user.DataDir)
	p.host.Dir, p.host.Env = p.project, p.user.Home.Env(p.project, "MAGICCTX_TEST_CLOCK="+p.clock())
	in, err := p.host.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := p.host.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.host.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.input = in
	told := make(chan string, 10)
	p.told = told
	p.client = rpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in}, func(_ context.Context, method string, params json.Value) (any, error) {
		return p.handle(told, method, params)
	}, nil)
	p.call(schema.MethodInitialize, schema.InitializeParams{
		Protocol: schema.Version{Major: schema.ProtocolMajor}, Client: "test", Harness: schema.HarnessOpenCode, Directory: p.project,
	}, nil)
	if _, err := p.command("--dry-run"); err != nil { // it waits until the host knows the project
		p.t.Fatal(err)
	}
}

func (p *pipe) handle(told chan<- string, method string, params json.Value) (any, error) {
	switch method {
	case schema.MethodModelLimits:
		return schema.ModelLimits{ContextTokens: 200_000, NPM: "@ai-sdk/anthropic", Price: sonnet}, nil
	case schema.MethodNotifyShow:
		var n schema.NotifyShowParams
		if err := json.Unmarshal(params, &n); err != nil {
			return nil, err
		}
		told <- n.Message
		return schema.Empty{}, nil
	case schema.MethodAgentRun:
		var q schema.AgentRunParams
		if err := json.Unmarshal(params, &q); err != nil {
			return nil, err
		}
		text, isKilled := p.answer(q.System, q.Prompt)
		if isKilled {
			return nil, io.ErrUnexpectedEOF
		}
		u := usage{input: tokens.Count(q.System) + tokens.Count(q.Prompt), output: tokens.Count(text)}
		return schema.AgentRunResult{Answers: []json.Value{json.Value(answerOf("answer", text, u))}}, nil
	}
	return schema.Empty{}, nil
}

func answerOf(id, text string, u usage) string {
	return fmt.Sprintf(`{"info":{"id":%q,"role":"assistant","providerID":"anthropic","modelID":"claude-sonnet-4-5","finish":"stop",`+
		`"tokens":{"input":%d,"output":%d,"cache":{"read":%d,"write":%d}}},"parts":[{"id":"p-%s","type":"text","text":%s}]}`,
		id, u.input, u.output, u.read, u.write, id, json.Quote(text))
}

func (p *pipe) call(method string, params, result any) {
	p.t.Helper()
	if err := p.client.Call(p.ctx, method, params, result); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}

func (p *pipe) command(arguments string) (said schema.CommandExecuteResult, err error) {
	err = p.client.Call(p.ctx, schema.MethodCommandExecute, schema.CommandExecuteParams{Session: p.session, Directory: p.project, Command: "ctx-dream", Arguments: arguments}, &said)
	return said, err
}

// A usual turn has about ten requests.
func (p *pipe) visit(project string, calls ...map[string]any) (first string) {
	p.t.Helper()
	p.leave()
	p.sessions++
	p.project, p.session, p.messages = project, fmt.Sprint("ses_week", p.sessions), nil
	p.connect()
	p.messages = append(p.messages, fmt.Sprintf(
		`{"info":{"id":"msg_0","sessionID":%q,"role":"user","time":{"created":1},"model":{"providerID":"anthropic","modelID":"claude-sonnet-4-5"}},"parts":[{"id":"p0","type":"text","text":"Go on."}]}`, p.session))
	for i := range 10 {
		var m schema.WireMutation
		params := schema.TransformParams{Session: p.session, Directory: p.project}
		array := []byte("[" + strings.Join(p.messages, ",") + "]")
		if err := p.client.CallWithAttachment(p.ctx, schema.MethodTransform, params, array, &m); err != nil {
			p.t.Fatal(err)
		}
		if i == 0 {
			for _, message := range m.Head {
				first += string(message)
			}
			first += p.messages[0]
		}
		if i < len(calls) {
			args, err := json.Marshal(calls[i])
			if err != nil {
				p.t.Fatal(err)
			}
			var r schema.ToolExecuteResult
			p.call(schema.MethodToolExecute, schema.ToolExecuteParams{Session: p.session, Directory: p.project, Tool: "ctx_memory", CallID: fmt.Sprint("call_", i), Args: args}, &r)
			if !strings.HasPrefix(r.Output, "Saved") {
				p.t.Fatalf("ctx_memory says %q", r.Output)
			}
		}
		u := usage{input: 200, output: 300, read: 30_000 + 2_000*i, write: 1_800}
		p.used = append(p.used, u)
		p.messages = append(p.messages, answerOf(fmt.Sprint("msg_", i+1), "Done.", u))
	}
	return first
}

func (p *pipe) dream() {
	p.t.Helper()
	// The host may ask its first question before it answers the command. If the test kills the host at that question,
	// the command fails, which is not an error here.
	if _, err := p.command(""); err != nil && (p.killAt == 0 || p.asked != p.killAt) {
		p.t.Fatal(err)
	}
	if len(p.delays) > 0 {
		time.Sleep(p.delays[0]) // the random moment
		p.delays = p.delays[1:]
		p.kill()
		<-p.client.Done()
		p.revive()
		return
	}
	select {
	case <-p.told:
	case <-p.client.Done():
		if said := p.revive(); !strings.Contains(said, "goes on with the run that was interrupted") {
			p.t.Errorf("after the crash: %q", said)
		}
	case <-time.After(time.Minute):
		p.t.Fatal("the run has not ended")
	}
}

// revive starts a new host after a kill, repeats the command, and returns its answer.
func (p *pipe) revive() string {
	p.t.Helper()
	_ = p.client.Close(p.ctx) // the connection has ended already
	_ = p.host.Wait()         // the host was killed
	p.connect()
	result, err := p.command("")
	if err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.told:
	case <-time.After(time.Minute):
		p.t.Fatal("the run has not ended after the crash")
	}
	return result.Message
}

func (p *pipe) leave() {
	p.t.Helper()
	if p.client == nil {
		return
	}
	if err := p.client.Close(p.ctx); err != nil {
		p.t.Error(err)
	}
	if err := p.host.Wait(); err != nil {
		p.t.Errorf("the host has ended: %v", err)
	}
	p.client = nil
}

func (p *pipe) kill() {
	if p.leaves {
		_ = p.input.Close() // as the kernel does for a process that was killed
		return
	}
	_ = p.host.Process.Signal(os.Kill)
}
