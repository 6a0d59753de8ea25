package rpc

import "io"

// A halfPipe is one end of a connection within the process. Unlike an end of
// net.Pipe, it can close its output and still read.
type halfPipe struct {
	*io.PipeReader
	*io.PipeWriter
}

// Pipe returns the two ends of a connection within the process, for example
// between a replay and its host.
func Pipe() (a, b io.ReadWriteCloser) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	return &halfPipe{ar, aw}, &halfPipe{br, bw}
}

// CloseWrite closes the output.
func (p *halfPipe) CloseWrite() error { return p.PipeWriter.Close() }

// Close ends both directions.
func (p *halfPipe) Close() error {
	p.PipeReader.Close() // this never fails
	return p.PipeWriter.Close()
}
