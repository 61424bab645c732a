/** What is never imported goes. With --production tests don't count: what only they import is used in its own file, or goes too. */
export default {
  workspaces: {
    '.': {
      entry: [
        'src/cli/main.ts!',
        'src/cluster-daemon/conversion-server.ts!',
        'src/page/browser/main.ts!',
        // It writes pages of what the node keeps, which is there to be read.
        'schemas/generate-host-pages.ts!',
        'schemas/generate-{crds,kinds,types}.ts',
        'deploy/*.ts',
        'test/all.ts',
        'test/bench/**/*.ts',
        'test/upstream/main.ts',
        'test/support/**/*.ts',
      ],
      project: [
        'src/**/*.ts!',
        '!src/ovsdb/**',
        '!src/netlink/**',
        'test/**/*.ts',
        'deploy/*.ts',
        'schemas/generate-host-pages.ts!',
        'schemas/generate-{crds,kinds,types}.ts',
      ],
    },
    'src/netlink': { entry: ['packing.ts!'], project: ['**/*.ts!'] },
    'src/ovsdb': { entry: ['packing.ts!'], project: ['**/*.ts!'] },
  },
  ignoreExportsUsedInFile: process.argv.includes('--production'),
  exclude: ['binaries'],
};
