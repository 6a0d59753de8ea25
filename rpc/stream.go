package rpc

import (
	"bufio"
	stdjson "encoding/json" // jsonrpc2's request type holds stdjson.RawMessage
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// A stream carries JSON-RPC messages in frames for the jsonrpc2 library. The library decodes a body about five times,
// and changes member order, lone surrogates and HTML escapes. So the library gets only an envelope without params and
// result. When it reads or writes a message, it calls a hook of the stream, which adds the params or the result again.
// The connection must be created with (*stream).options.
type stream struct {
	rwc io.ReadWriteCloser
	r   *bufio.Reader
	out *outbox
	log *slog.Logger

	inFrame bool // whether the reader goroutine has read a part of a frame

	// `memory` bounds the frames that this end holds, or is nil.
	memory *memory
	// `held` is the memory reserved for the last frame. If a call takes this reservation over, `held` becomes nil.
	// Otherwise it is released when the next frame is read. Only the reader goroutine uses `held`.
	held *reservation

	// `in` is the message that ReadObject hands over to (*stream).received. Both run on the connection's reader
	// goroutine.
	in message
	// sendReq and sendResp are the message that (*stream).sending hands over to WriteObject. Both run under the
	// connection's sending lock.
	sendReq  *jsonrpc2.Request
	sendResp *jsonrpc2.Response

	// If `ended` is not nil, it is closed when the input ends. ReadObject then waits for Close and does not return
	// io.EOF, because jsonrpc2 would react to io.EOF by closing the connection, and the answers to earlier requests
	// would be lost.
	ended chan struct{}

	closed    chan struct{}
	closeOnce sync.Once
	closeErr  error
}

var _ jsonrpc2.ObjectStream = (*stream)(nil)

type message struct {
	ID     json.Value `json:"id,omitzero"`
	Method *string    `json:"method,omitzero"`
	Params json.Value `json:"params,omitzero"`
	Result json.Value `json:"result,omitzero"`
	Error  json.Value `json:"error,omitzero"`

	attachment []byte
	refused    error // see frame.refused
}

// Inside this process, the library carries payloads in these extra fields, between the stream and the code that sends
// or serves a request. They contain the params, the attachment, or the refusal of an attachment, and are never written
// to the pipe.
const (
	extraParams     = "\x00params"
	extraAttachment = "\x00attachment"
	extraRefused    = "\x00refused"
)

// writeFailed is called once if a write fails.
func newStream(rwc io.ReadWriteCloser, log *slog.Logger, writeFailed func(error)) *stream {
	s := &stream{
		rwc: rwc,
		out: newOutbox(rwc, writeFailed),
		log: log,

		closed: make(chan struct{}),
	}
	s.r = bufio.NewReaderSize(&stallGuard{from: rwc, within: &s.inFrame}, readBufferBytes)
	return s
}

// If a connection sends no byte for this time within a frame, it ends, because an unfinished frame uses memory that
// other clients need. The time is long, because a person may stop a harness for a moment (Ctrl-Z).
const stallTimeout = time.Minute

// A stallGuard is a reader that fails if the next byte of an unfinished frame does not arrive within stallTimeout. If
// the connection does not support deadlines (stdin, for example), its Read may wait forever.
type stallGuard struct {
	from   io.Reader
	within *bool // whether a part of a frame has been read
}

func (g *stallGuard) Read(p []byte) (int, error) {
	if c, ok := g.from.(interface{ SetReadDeadline(time.Time) error }); ok {
		var deadline time.Time
		if *g.within {
			deadline = time.Now().Add(stallTimeout)
		}
		_ = c.SetReadDeadline(deadline) // if the connection is closed, the next read reports it
	}
	return g.from.Read(p)
}

func (s *stream) readNext() (frame, error) {
	s.release()
	s.inFrame = false
	if _, err := s.r.Peek(1); err != nil {
		return frame{}, err // io.EOF between two frames is the normal end
	}
	s.inFrame = true
	s.held = &reservation{of: s.memory}
	return readFrame(s.r, s.held)
}

// release frees the memory of the last frame. If a call has taken this memory over, release does nothing, because the
// call frees it.
func (s *stream) release() {
	if s.held != nil {
		s.held.release()
		s.held = nil
	}
}

// The caller of takeOver releases the memory.
func (s *stream) takeOver() *reservation {
	held := s.held
	s.held = nil
	return held
}

func (s *stream) options() []jsonrpc2.ConnOpt {
	return []jsonrpc2.ConnOpt{
		jsonrpc2.OnRecv(s.received),
		jsonrpc2.OnSend(s.sending),
		jsonrpc2.SetLogger(libraryLog{s.log}),
	}
}

// ReadObject implements jsonrpc2.ObjectStream. Any error ends the connection. ReadObject logs every error except the
// normal end of a connection.
func (s *stream) ReadObject(v any) error {
	err := s.readObject(v)
	if err != nil {
		s.release()
	}
	if errors.Is(err, io.EOF) && s.ended != nil {
		close(s.ended)
		<-s.closed
	}
	if err != nil && !IsEnd(err) {
		s.log.Error("connection closed: cannot read on", "cause", err)
	}
	return err
}

func (s *stream) readObject(v any) error {
	for {
		f, err := s.readNext()
		if err != nil {
			return err
		}
		m := message{attachment: f.attachment, refused: f.refused}
		if err := json.Unmarshal(f.body, &m); err != nil {
			return fmt.Errorf("%w: body: %w", errMalformedFrame, err)
		}
		if m.Method == nil && isNull(m.ID) {
			// This error has no id, because the other end could not even read the id of the message.
			s.log.Error("unaddressed error from the other end", "error", string(m.Error))
			continue
		}
		s.in = m
		envelope, err := m.envelope()
		if err != nil {
			return err
		}
		if err := v.(interface{ UnmarshalJSON([]byte) error }).UnmarshalJSON(envelope); err != nil {
			return fmt.Errorf("%w: %w", errMalformedFrame, err)
		}
		return nil
	}
}

// The library needs only the envelope to route a message.
func (m *message) envelope() ([]byte, error) {
	id, err := envelopeID(m.ID)
	if err != nil {
		return nil, err
	}
	bare := message{ID: id}
	switch {
	case m.Method != nil:
		bare.Method = m.Method
	case len(m.Error) > 0 && !isNull(m.Error):
		bare.Error = m.Error
	case len(m.Result) > 0:
		bare.Result = json.Value("true")
	default:
		return nil, fmt.Errorf("%w: neither method nor result nor error", errMalformedFrame)
	}
	return json.Marshal(&bare)
}

func (s *stream) received(req *jsonrpc2.Request, resp *jsonrpc2.Response) {
	m := s.in
	s.in = message{}
	if resp != nil {
		if resp.Error == nil {
			resp.Result = (*stdjson.RawMessage)(&m.Result)
		}
		return
	}
	if len(m.Params) > 0 {
		req.Params = (*stdjson.RawMessage)(&m.Params)
	}
	if m.attachment != nil {
		req.ExtraFields = []jsonrpc2.RequestField{{Name: extraAttachment, Value: m.attachment}}
	}
	if m.refused != nil {
		req.ExtraFields = []jsonrpc2.RequestField{{Name: extraRefused, Value: m.refused}}
	}
}

// The method `sending` stores the message for WriteObject. The argument of WriteObject has a private type, which hides
// the message.
func (s *stream) sending(req *jsonrpc2.Request, resp *jsonrpc2.Response) {
	s.sendReq, s.sendResp = req, resp
}

// WriteObject implements jsonrpc2.ObjectStream. It does not wait for the other end.
func (s *stream) WriteObject(any) error {
	m := message{}
	if s.sendReq != nil {
		m = requestMessage(s.sendReq)
	} else {
		var err error
		if m, err = responseMessage(s.sendResp); err != nil {
			return err
		}
	}
	s.sendReq, s.sendResp = nil, nil

	body, err := m.encode()
	if err != nil {
		return err
	}
	if len(body) > schema.MaxBodyBytes {
		return fmt.Errorf("%w: a body of %d bytes, at most %d", errOversizedFrame, len(body), schema.MaxBodyBytes)
	}
	if len(m.attachment) > schema.MaxAttachmentBytes {
		return fmt.Errorf("%w: an attachment of %d bytes, at most %d", errOversizedFrame, len(m.attachment), schema.MaxAttachmentBytes)
	}
	head := appendHeader(make([]byte, 0, 64+len(body)), len(body), len(m.attachment))
	return s.out.put(append(head, body...), m.attachment)
}

func (m *message) encode() ([]byte, error) {
	type wire message
	return json.Marshal(struct {
		JSONRPC string `json:"jsonrpc"`
		wire
	}{"2.0", wire(*m)})
}

func requestMessage(req *jsonrpc2.Request) message {
	m := message{Method: &req.Method}
	if !req.Notif {
		m.ID = encodeID(req.ID)
	}
	for _, f := range req.ExtraFields {
		switch f.Name {
		case extraParams:
			m.Params = f.Value.(json.Value)
		case extraAttachment:
			m.attachment = f.Value.([]byte)
		}
	}
	return m
}

func responseMessage(resp *jsonrpc2.Response) (message, error) {
	m := message{ID: encodeID(resp.ID)}
	if resp.Error == nil {
		m.Result = json.Value(*resp.Result)
		return m, nil
	}
	var err error
	m.Error, err = json.Marshal(struct {
		Code    int64      `json:"code"`
		Message string     `json:"message"`
		Data    json.Value `json:"data,omitzero"`
	}{Code: resp.Error.Code, Message: resp.Error.Message})
	return m, err
}

// Close implements jsonrpc2.ObjectStream. It discards everything that is not written.
func (s *stream) Close() error {
	s.closeOnce.Do(func() {
		close(s.closed)
		s.out.close()
		s.closeErr = s.rwc.Close()
	})
	return s.closeErr
}

// IsEnd reports whether err means that a connection has ended normally, for example io.EOF.
func IsEnd(err error) bool {
	for _, end := range []error{io.EOF, net.ErrClosed, os.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

func isNull(v json.Value) bool { return len(v) == 0 || string(v) == "null" }

// libraryLog logs the messages of jsonrpc2 only at debug level, because the host logs the same events itself.
type libraryLog struct{ log *slog.Logger }

func (l libraryLog) Printf(format string, args ...any) {
	l.log.Debug("jsonrpc2", "said", fmt.Sprintf(format, args...))
}
