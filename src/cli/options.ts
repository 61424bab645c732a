/** Flags of the commands, made from the table of settings, and the configuration that they, the environment and the file give. */
import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { ConfigurationError } from '../process/configuration-error.ts';
import { resolveConfiguration, type Configuration } from '../settings/configuration.ts';
import {
  environmentName,
  OPTIONS,
  type OptionName,
  type OptionSpec,
  type RawOptions,
} from '../settings/options.ts';
import { reasonOfPath } from '../api/without-errno.ts';

const GROUP_TITLES = {
  where: 'Where:',
  tls: 'TLS:',
  control: 'Control socket:',
  cluster: 'Cluster settings (the same on every node):',
  behaviour: 'Behaviour:',
} as const;

const CONFIG_VARIABLE = 'HEDDLE_CONFIG';

/** Adds every setting of `groups` as a flag, and `--config`. */
export function addSettings(
  command: Command,
  groups: readonly (keyof typeof GROUP_TITLES)[] = ['where', 'tls', 'cluster', 'behaviour'],
): Command {
  command.addOption(
    new Option('--config <FILE>', `YAML file of settings (${CONFIG_VARIABLE})`).helpGroup(
      GROUP_TITLES[groups[0] ?? 'where'],
    ),
  );
  for (const spec of OPTIONS as readonly OptionSpec[]) {
    if (!groups.includes(spec.group)) continue;
    const fallback = (spec.default ?? '') === '' ? '' : `; default ${spec.default}`;
    command.addOption(
      new Option(
        spec.isSwitch === true
          ? `--${spec.name} [${spec.value}]`
          : `--${spec.name} <${spec.value}>`,
        `${spec.description}${fallback}`,
      ).helpGroup(GROUP_TITLES[spec.group]),
    );
  }
  return command.addHelpText(
    'after',
    `\nEvery setting can also stand in the file (mtu: 1400) or in the environment (${environmentName('mtu')}=1400); a flag wins.`,
  );
}

/** The configuration of a command from its flags, the environment and the file that `--config` or HEDDLE_CONFIG names; `node`: of another node than they name. */
export function configurationOf(command: Command, node?: string): Configuration {
  const values = command.optsWithGlobals<Record<string, unknown>>();
  const flags: Partial<Record<OptionName, string>> = {};
  for (const { name } of OPTIONS) {
    const value = values[camelCase(name)];
    if (typeof value === 'string') flags[name] = value;
    else if (value === true) flags[name] = 'true';
  }
  if (node !== undefined) flags.node = node;
  const named = values['config'] ?? process.env[CONFIG_VARIABLE];
  const file = typeof named === 'string' && named !== '' ? named : undefined;
  const kernelPortRange = readOptional('/proc/sys/net/ipv4/ip_local_port_range');
  return resolveConfiguration({
    flags: flags satisfies RawOptions,
    environment: process.env,
    uid: process.getuid?.() ?? 0,
    ...(file === undefined ? {} : { file: { name: file, text: readConfigurationFile(file) } }),
    ...(kernelPortRange === undefined ? {} : { kernelPortRange }),
  });
}

/** The settings a command can't do without; a missing one is an error that says how to give it. */
export function needed<K extends 'node' | 'nb' | 'ovs'>(
  configuration: Configuration,
  ...names: readonly K[]
): Configuration & Readonly<Record<K, string>> {
  for (const name of names) {
    if (configuration[name] === undefined)
      throw new ConfigurationError(
        `--${name}`,
        `is not set: give the flag, ${environmentName(name)} or "${name}:" in the configuration file${ofNodes(name, configuration)}`,
      );
  }
  return configuration as Configuration & Record<K, string>;
}

/** Where the file has each node's own: which there are. */
const ofNodes = (name: string, { node, knownNodes }: Configuration): string =>
  knownNodes.length === 0 || (node !== undefined && knownNodes.includes(node))
    ? ''
    : `; ${name === 'node' ? 'its nodes' : `it has no node "${node}", but`}: ${knownNodes.join(', ')}`;

/** Aborts when the process is asked to end; a second request ends it at once. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort());
  return stop.signal;
}

const camelCase = (name: string): string =>
  name.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

function readConfigurationFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigurationError('--config', `${path} can't be read: ${reasonOfPath(error)}`);
  }
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // not Linux: OVN chooses the ports
  }
}
