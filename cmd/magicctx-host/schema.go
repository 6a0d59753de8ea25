package main

import "github.com/magicctx/magicctx-host/schema"

type schemaCmd struct {
	Name string `arg:"" enum:"config,protocol" help:"Which schema: config or protocol."`
}

func (cmd *schemaCmd) Run(s streams) error {
	content, err := schema.JSONSchema(cmd.Name)
	if err != nil {
		return err
	}
	_, err = s.out.Write(content)
	return err
}
