package rpc

import "io"

// A halfPipe is one end of a pipe. Unlike an end of net.Pipe, it can close its output and still read.
type halfPipe struct {
	*io.PipeReader
	*io.PipeWriter
}

// Pipe returns the two ends of a connection within the process.
func Pipe() (a, b io.ReadWriteCloser) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	return &halfPipe{ar, aw}, &halfPipe{br, bw}
}

func (p *halfPipe) CloseWrite() error { return p.PipeWriter.Close() }

func (p *halfPipe) Close() error {
	p.PipeReader.Close() // this never fails
	return p.PipeWriter.Close()
}
