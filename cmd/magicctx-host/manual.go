package main

import (
	"github.com/alecthomas/kong"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/manual"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

func (completionCmd) Help() string {
	return "For bash: magicctx-host completion bash > ~/.local/share/bash-completion/completions/magicctx-host. " +
		"For fish: magicctx-host completion fish > ~/.config/fish/completions/magicctx-host.fish. " +
		"For zsh: write it to a file _magicctx-host in a directory of $fpath."
}

func (cmd *completionCmd) Run(k *kong.Context, s streams) error {
	return manual.Complete(s.out, cmd.Shell, k.Model)
}

type manCmd struct{}

func (manCmd) Run(k *kong.Context, s streams) error { return manual.Page(s.out, k.Model) }
