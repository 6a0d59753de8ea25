// In rpc mode, Pi has no command to reload extensions or to move in the session's tree. An extension can do both.
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
