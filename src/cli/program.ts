/** The `heddle` command. */
import { Command, CommanderError } from 'commander';
import { VERSION } from '../process/version.ts';
import { EXIT, report, tone } from './output.ts';
import { asPlugin } from './plugin.ts';
import { withoutErrno } from '../api/without-errno.ts';
import { exitCodeOf } from './user-errors.ts';

interface CommandModule {
  readonly register: (program: Command) => void;
}

/** Loaded on demand, so that a command starts without the modules of the others. */
const COMMANDS: Readonly<Record<string, () => Promise<CommandModule>>> = {
  apply: () => import('./apply.ts'),
  bundle: () => import('./bundle.ts'),
  changes: () => import('./changes.ts'),
  check: () => import('./check.ts'),
  cleanup: () => import('./cleanup.ts'),
  cluster: () => import('./cluster.ts'),
  cni: () => import('./cni.ts'),
  control: () => import('./control.ts'),
  diff: () => import('./plan.ts'),
  drops: () => import('./drops.ts'),
  explain: () => import('./explain.ts'),
  graph: () => import('./graph.ts'),
  lab: () => import('./lab.ts'),
  node: () => import('./node.ts'),
  plan: () => import('./plan.ts'),
  render: () => import('./render.ts'),
  show: () => import('./status.ts'),
  status: () => import('./status.ts'),
  ui: () => import('./ui.ts'),
  validate: () => import('./validate.ts'),
  verify: () => import('./verify.ts'),
  version: () => import('./version.ts'),
  // It comes last: it answers with what those above have.
  completion: () => import('./completion.ts'),
};
const COMPLETION = ['completion', 'complete'];

/** Who reads our output may have seen enough (`heddle status | head`). */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const VERSION_FLAGS = ['-V', '--version'];

/**
 * `heddle` with its command `called`; with all of them where there is none of this name: for the list of commands, and for shells that complete them.
 */
export async function commandFor(called: string): Promise<Command> {
  const program = new Command('heddle')
    .description(
      'Network segmentation for OVN: networks declared as Kubernetes objects, kept true in OVN.',
    )
    .version(VERSION, VERSION_FLAGS.join(', '))
    .showHelpAfterError('(heddle --help lists the commands)')
    .exitOverride();
  const one = COMPLETION.includes(called) ? undefined : COMMANDS[called];
  const loaders = one === undefined ? Object.values(COMMANDS) : [one];
  if (VERSION_FLAGS.includes(called)) return program;
  const modules = await Promise.all(loaders.map((load) => load()));
  for (const { register } of new Set(modules)) register(program);
  leadToHelp(program);
  return program;
}

/** A wrong command line is answered with where its own flags are. */
function leadToHelp(parent: Command, path = parent.name()): void {
  for (const command of parent.commands) {
    const full = `${path} ${command.name()}`;
    const what = command.commands.length > 0 ? 'the commands' : 'its flags';
    command.showHelpAfterError(`(${full} --help lists ${what})`);
    leadToHelp(command, full);
  }
}

export async function main(): Promise<void> {
  asPlugin();
  const program = await commandFor(process.argv[2] ?? '');
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? EXIT.success : EXIT.usage;
      return;
    }
    const code = exitCodeOf(error);
    if (code === undefined || !(error instanceof Error)) throw error;
    report(`${tone('heddle:', 'bad', process.stderr)} ${withoutErrno(error.message)}`);
    process.exitCode = code;
  }
}
