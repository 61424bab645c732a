/** `heddle completion`: what shells need to complete commands, flags, values and files; and what they ask for it. */
import { script, ShellCompDirective } from '@bomb.sh/tab';
import { Argument, type Command, type Option } from 'commander';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const INSTALLATION = `
  bash: heddle completion bash > /etc/bash_completion.d/heddle (package bash-completion)
  zsh:  heddle completion zsh > "\${fpath[1]}/_heddle"
  fish: heddle completion fish > ~/.config/fish/completions/heddle.fish`;

/** What may stand in the place of a word, with what it means; `isFile`: a path, which the shell itself completes. */
interface Completions {
  readonly candidates: readonly (readonly [word: string, meaning: string])[];
  readonly isFile: boolean;
}

const NOTHING: Completions = { candidates: [], isFile: false };
/** Values that are written like these in the help are paths. */
const PATH_VALUE = /[<[](FILE|DIR|PATH|files?|folder)(\.{3})?[>\]]/;

const takesValue = (option: Option): boolean => option.required;

const valuesOf = (choices: readonly string[] | undefined, text: string): Completions =>
  choices === undefined
    ? { candidates: [], isFile: PATH_VALUE.test(text) }
    : { candidates: choices.map((choice) => [choice, ''] as const), isFile: false };

const argumentText = (argument: Argument): string =>
  `<${argument.name()}${argument.variadic ? '...' : ''}>`;

/** What the last of `words`, which may be empty, can become behind those before it. Pure. */
export function completionsOf(program: Command, words: readonly string[]): Completions {
  const last = words.at(-1) ?? '';
  let command = program;
  let operands = 0;
  let waiting: Option | undefined;
  const optionOf = (word: string): Option | undefined =>
    command.options.find(({ long, short }) => word === long || word === short);
  for (const word of words.slice(0, -1)) {
    if (waiting !== undefined) {
      waiting = undefined;
      continue;
    }
    if (word.startsWith('-')) {
      const option = optionOf(word);
      if (option !== undefined && takesValue(option)) waiting = option;
      continue;
    }
    const sub = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (sub === undefined) operands += 1;
    else command = sub;
  }
  if (waiting !== undefined) return valuesOf(waiting.argChoices, waiting.flags);
  const [flag = '', value] = last.split('=', 2);
  if (last.startsWith('-')) {
    if (value === undefined) return optionsOf(command);
    const option = optionOf(flag);
    if (option === undefined) return NOTHING;
    const { candidates, isFile } = valuesOf(option.argChoices, option.flags);
    return { candidates: candidates.map(([word, text]) => [`${flag}=${word}`, text]), isFile };
  }
  const argument = command.registeredArguments.find(
    ({ variadic }, at) => at === operands || (variadic && at < operands),
  );
  if (argument !== undefined) return valuesOf(argument.argChoices, argumentText(argument));
  const subcommands = command.createHelp().visibleCommands(command);
  return {
    candidates: subcommands.map((one) => [one.name(), one.summary() || one.description()]),
    isFile: false,
  };
}

const optionsOf = (command: Command): Completions => ({
  candidates: command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, short, description }) => [long ?? short ?? '', description] as const),
  isFile: false,
});

/** The answer to a shell's script: a candidate in each line with its meaning, then what else it may try. */
export function completionLines(program: Command, words: readonly string[]): string {
  const { candidates, isFile } = completionsOf(program, words);
  const directive = isFile
    ? ShellCompDirective.ShellCompDirectiveDefault
    : ShellCompDirective.ShellCompDirectiveNoFileComp;
  const lines = candidates
    .filter(([word]) => word.startsWith(words.at(-1) ?? ''))
    .map(([word, meaning]) => `${word}\t${meaning.replaceAll(/\s+/g, ' ')}`);
  return [...lines, `:${directive}`].join('\n');
}

/** Needs the other commands: it answers with what they have. */
export function register(program: Command): void {
  program
    .command('completion')
    .description('script that lets a shell complete commands, flags and files')
    .addArgument(new Argument('<shell>', 'shell').choices(SHELLS))
    .addHelpText('after', INSTALLATION)
    .action((shell: (typeof SHELLS)[number]) => script(shell, program.name(), program.name()));
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action((words: readonly string[]) => {
      process.stdout.write(`${completionLines(program, words)}\n`);
    });
}
