// Two things that a user does by key or by a built-in command have no counterpart in Pi's rpc mode. An
// extension can do them in a command.
export default (pi) => {
  pi.registerCommand("pitest-reload", { description: "Reload the extensions", handler: async (_, ctx) => await ctx.reload() })
  pi.registerCommand("pitest-tree", {
    description: "Go to an entry of the session's tree",
    handler: async (args, ctx) => {
      const [entry, how] = args.trim().split(" ")
      await ctx.navigateTree(entry, { summarize: how === "summarize" })
    },
  })
}
