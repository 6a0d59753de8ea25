// Pi's rpc mode has no command for two actions of a user: a reload, and a move in the tree. An extension can do them.
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
