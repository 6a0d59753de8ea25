package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	if err := run(out, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	out.Flush()
}

func run(out *bufio.Writer, args []string) error {
	if len(args) == 1 && args[0] == "-split" {
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			fields := strings.Split(in.Text(), "\t")
			for i := range fields {
				fields[i] = strings.Join(telling(fields[i]), " ")
			}
			fmt.Fprintln(out, strings.Join(fields, "\t"))
		}
		return in.Err()
	}
	c := collector{seen: map[string]bool{}, out: out}
	for _, dir := range args {
		if err := c.commits(dir); err != nil {
			return err
		}
		if err := c.documents(dir); err != nil {
			return err
		}
	}
	return nil
}
