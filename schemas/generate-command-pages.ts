// Writes docs/man/heddle.1 from the commands and settings of `heddle`, and schemas/heddle.schema.json, by which an editor checks a file of settings
// (heddle.yaml). With --check: exits 1 when one of them does not hold what its source says.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { EXIT } from '../src/cli/output.ts';
import { commandFor } from '../src/cli/program.ts';
import { VERSION } from '../src/process/version.ts';
import { environmentName, OPTIONS, type OptionSpec } from '../src/settings/options.ts';

const ROOT = join(import.meta.dirname, '..');
const SETTINGS: readonly OptionSpec[] = OPTIONS;

/** Text that roff (man(7)) prints as it is. */
const roff = (text: string): string =>
  text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll(/^([.'])/gm, '\\&$1');
const bold = (text: string): string => `\\fB${roff(text)}\\fR`;
const item = (term: string, text: string): readonly string[] => ['.TP', term, roff(text)];

const isSetting = ({ long }: Option): boolean =>
  long === '--config' || SETTINGS.some(({ name }) => long === `--${name}`);

/** A command and those of it; settings stand in a section of their own. */
function commandSection(command: Command, parent: string): readonly string[] {
  const help = command.createHelp();
  const name = `${parent} ${command.name()}`;
  const subcommands = help.visibleCommands(command).filter((one) => one.name() !== 'help');
  const operands = command.registeredArguments.map((one) =>
    one.required ? `<${one.name()}>` : `[${one.name()}${one.variadic ? '...' : ''}]`,
  );
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help');
  const settings = options.some(isSetting) ? '[settings]' : '';
  const usage = [name, subcommands.length > 0 ? '<command>' : '', ...operands, settings];
  return [
    `.SS ${roff(usage.filter((part) => part !== '').join(' '))}`,
    roff(command.description()),
    ...options
      .filter((option) => !isSetting(option))
      .flatMap((option) => item(bold(option.flags), help.optionDescription(option))),
    ...subcommands.flatMap((one) => commandSection(one, name)),
  ];
}

const EXIT_TEXTS: Readonly<Record<keyof typeof EXIT, string>> = {
  success: 'nothing is wrong',
  problems: 'something is wrong with an object, a network or the host, and the output says what',
  changes: 'plan and diff: there is something to change',
  usage: "the command line or the configuration can't be used",
  unavailable: 'a database, the lab or the API could not be reached in time, or another process has the zone',
};

function manual(program: Command): readonly string[] {
  const commands = program
    .createHelp()
    .visibleCommands(program)
    .filter((one) => one.name() !== 'help');
  return [
    `.TH HEDDLE 1 "" "heddle ${VERSION}" "Heddle"`,
    '.SH NAME',
    'heddle \\- network segmentation for OVN',
    '.SH SYNOPSIS',
    '.B heddle',
    '<command> [options]',
    '.SH DESCRIPTION',
    roff(program.description()),
    '.SH COMMANDS',
    ...commands.flatMap((one) => commandSection(one, 'heddle')),
    '.SH SETTINGS',
    roff(
      `Each is a flag, a variable of the environment, and a key of the YAML file that --config or HEDDLE_CONFIG names; a flag beats the environment, which beats the file. Under the key nodes the file has settings of single nodes, by their names.`,
    ),
    ...SETTINGS.flatMap(({ name, value, description, default: fallback = '' }) =>
      item(
        `${bold(`--${name}`)} ${roff(value)}, ${bold(environmentName(name))}`,
        `${description}${fallback === '' ? '' : `; default ${fallback}`}`,
      ),
    ),
    '.SH EXIT STATUS',
    ...Object.entries(EXIT_TEXTS).flatMap(([name, text]) =>
      item(bold(String(EXIT[name as keyof typeof EXIT])), text),
    ),
    '.SH SEE ALSO',
    roff('ovn-nbctl(8), ovn-northd(8), ovn-controller(8), ovs-vsctl(8)'),
    '',
  ];
}

const NUMBERS = ['BYTES', 'COUNT', 'KIB', 'MILLISECONDS', 'NUMBER', 'PACKETS', 'SECONDS'];

function schemaOf({ value, description, default: fallback = '' }: OptionSpec): object {
  const type = NUMBERS.includes(value)
    ? { type: 'number' }
    : value === 'BOOL'
      ? { type: 'boolean' }
      : value === 'LIST'
        ? { type: ['string', 'array'], items: { type: 'string' } }
        : { type: 'string' };
  return { description, ...type, ...(fallback === '' ? {} : { default: valueOf(type, fallback) }) };
}

const valueOf = ({ type }: { readonly type: unknown }, text: string): unknown =>
  type === 'number' ? Number(text) : type === 'boolean' ? text === 'true' : text;

const propertiesOf = (settings: readonly OptionSpec[]): Readonly<Record<string, object>> =>
  Object.fromEntries(settings.map((spec) => [spec.name, schemaOf(spec)]));

const settingsSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Settings of Heddle',
  type: 'object',
  additionalProperties: false,
  properties: {
    ...propertiesOf(SETTINGS),
    nodes: {
      description: 'what nodes have of their own: settings by the name of the node that --node names',
      type: 'object',
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        properties: propertiesOf(
          SETTINGS.filter(({ name, group }) => name !== 'node' && group !== 'cluster'),
        ),
      },
    },
  },
};

const pages = {
  'docs/man/heddle.1': manual(await commandFor('')).join('\n'),
  'schemas/heddle.schema.json': `${JSON.stringify(settingsSchema, undefined, 2)}\n`,
};
for (const [file, text] of Object.entries(pages)) {
  const path = join(ROOT, file);
  if (!process.argv.includes('--check')) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${file} is not what its source says: npm run generate`);
    process.exitCode = 1;
  }
}
