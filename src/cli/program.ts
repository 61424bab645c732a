/** The `heddle` command. */
import { Command, CommanderError } from 'commander';
import { ConfigurationError } from '../process/configuration-error.ts';
import { EXIT, report, tone } from './output.ts';

interface CommandModule {
  readonly register: (program: Command) => void;
}

/** Loaded on demand, so that a command starts without the modules of the others. */
const COMMANDS: Readonly<Record<string, () => Promise<CommandModule>>> = {
  apply: () => import('./apply.ts'),
  check: () => import('./check.ts'),
  cleanup: () => import('./cleanup.ts'),
  cluster: () => import('./cluster.ts'),
  cni: () => import('./cni.ts'),
  diff: () => import('./plan.ts'),
  graph: () => import('./graph.ts'),
  lab: () => import('./lab.ts'),
  node: () => import('./node.ts'),
  plan: () => import('./plan.ts'),
  render: () => import('./render.ts'),
  show: () => import('./status.ts'),
  status: () => import('./status.ts'),
  validate: () => import('./validate.ts'),
};

/** A failure that the user can do something about: printed as one message, without a stack trace. */
const isForPeople = (error: unknown): error is Error =>
  error instanceof ConfigurationError || (error instanceof Error && 'code' in error);

/** Who reads our output may have seen enough (`heddle status | head`). */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const VERSION_FLAGS = ['-V', '--version'];

/** The module of the command that was called; all of them where none was, for the list of commands. */
function load(): Promise<readonly CommandModule[]> {
  const [first = ''] = process.argv.slice(2);
  if (VERSION_FLAGS.includes(first)) return Promise.resolve([]);
  const called = COMMANDS[first];
  const loaders = called === undefined ? Object.values(COMMANDS) : [called];
  return Promise.all(loaders.map((one) => one()));
}

export async function main(): Promise<void> {
  const program = new Command('heddle')
    .description(
      'Network segmentation for OVN: networks declared as Kubernetes objects, kept true in OVN.',
    )
    .version('0.1.0', VERSION_FLAGS.join(', '))
    .showHelpAfterError('(heddle --help lists the commands)')
    .exitOverride();
  for (const { register } of new Set(await load())) register(program);
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? EXIT.success : EXIT.usage;
      return;
    }
    if (!isForPeople(error)) throw error;
    report(`${tone('heddle:', 'bad', process.stderr)} ${error.message}`);
    process.exitCode = error instanceof ConfigurationError ? EXIT.usage : EXIT.unavailable;
  }
}
