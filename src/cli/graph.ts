/** `heddle graph`: the logical topology of a node as a picture. */
import { statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Option, type Command } from 'commander';
import { nearestName } from '../api/validation/nearest-name.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { dotText } from '../graph/dot.ts';
import { mermaidText } from '../graph/mermaid.ts';
import { MOST_IN_DETAIL, overviewOf } from '../graph/overview.ts';
import { svgText } from '../graph/svg.ts';
import { joinedBy, partOf, topologyGraph, type TopologyGraph } from '../graph/topology-graph.ts';
import type { RenderedZone } from '../zone/rendered-zone.ts';
import { fileNames } from '../graph/file-names.ts';
import { reportWrong, writePage } from './graph-page.ts';
import { makeFolder } from '../store/make-folder.ts';
import { INVENT_NODES, zoneOf } from './invented-zone.ts';
import { atPath } from './named-path.ts';
import { addSettings } from './options.ts';
import { printLines, report } from './output.ts';

const FORMATS: Readonly<Record<string, (graph: TopologyGraph) => string | Promise<string>>> = {
  svg: (graph) => svgText(dotText(graph)),
  dot: dotText,
  mermaid: mermaidText,
  json: (graph) => `${JSON.stringify(graph, undefined, 2)}\n`,
};

interface GraphOptions {
  readonly html?: string;
  readonly proof?: string;
  readonly format: string;
  readonly json?: boolean;
  readonly output?: string;
  readonly detail?: boolean;
  readonly namespace?: string;
}

export function register(program: Command): void {
  addSettings(
    program
      .command('graph')
      .description('the logical topology of a node: switches, routers, what hangs at them')
      .argument(
        '[network]',
        'one network: NAMESPACE/NAME, NAME of a cluster-wide one, or default; or a ClusterNetworkConnect with what it joins',
      )
      .option('--namespace <NAME>', 'networks that pods of this namespace can be on')
      .addOption(
        new Option('--format <FORMAT>', 'what it is written as')
          .choices(Object.keys(FORMATS))
          .default('svg'),
      )
      .option('--json', 'the same as --format json')
      .option(
        '--detail',
        `every switch and router, also of more than ${MOST_IN_DETAIL} networks, of which else an overview is drawn`,
      )
      .option(
        '--output <FILE>',
        'write it there instead of to standard output, as its ending says (svg, dot, mmd, json) unless --format does; into a directory (DIR/) an overview (index) and a picture of each network, to which it links',
      )
      .option(
        '--html <FILE>',
        'write all networks as one page for a browser, which works without a network: who reaches whom by which object, topologies, pods, services, policies, YAML',
      )
      .option(
        '--proof <FILE>',
        'with --html: a certificate of heddle verify --certify, so that the page says which pairs are proved apart',
      )
      .option(...INVENT_NODES)
      .addHelpText(
        'after',
        '\nA page says how nodes are, too, where the daemon of --node answers. It has the YAML of objects without what pods run and without annotations of others.' +
          '\nShows what the objects ask for, from manifests or an API server alone. Networks that nothing on the node uses are left out; --render everywhere shows them too, as does --invent-nodes.' +
          '\nExit code: 0 done, 1 done except for what is listed as a problem, 64 usage.',
      ),
    ['where', 'control', 'cluster', 'behaviour'],
  ).action(async (network: string | undefined, options: GraphOptions, command: Command) => {
    if (options.html !== undefined) {
      await writePage(options.html, options.proof, network, command);
      return;
    }
    if (options.proof !== undefined)
      throw new ConfigurationError('--proof', 'is for --html, which is missing');
    const format =
      options.json === true
        ? 'json'
        : command.getOptionValueSource('format') === 'default'
          ? formatOf(options.output)
          : options.format;
    await using zone = await zoneOf(command);
    const whole = topologyGraph(zone.rows(), zone.egressExits());
    const graph = partOf(whole, wanted(zone, whole, network, options.namespace));
    if (options.output !== undefined && isFolder(options.output))
      await atPath('--output', options.output, () =>
        writeAll(graph, zone.node, format, options.output ?? ''),
      );
    else {
      const isOverview =
        network === undefined &&
        options.detail !== true &&
        format !== 'json' &&
        graph.networks.length > MOST_IN_DETAIL;
      const text = await drawn(isOverview ? overviewOf(graph, zone.node) : graph, format);
      const { output } = options;
      if (output === undefined) printLines(text.trimEnd());
      else {
        await atPath('--output', output, () => writeFile(output, text));
        report(`${networksText(graph.networks.length)}: ${output}`);
      }
      if (isOverview)
        report(
          `an overview of ${graph.networks.length} networks; NETWORK shows one of them, --detail all, --output DIR/ both`,
        );
    }
    reportWrong(await zone.report());
  });
}

/** What a file is written as, by the ending of its name. Throws ConfigurationError for one that is another program's. */
function formatOf(output = ''): string {
  const ending = isFolder(output) ? '' : extname(output).slice(1);
  if (ending === '') return 'svg';
  const format = Object.keys(FORMATS).find((one) => endingOf(one) === ending);
  if (format !== undefined) return format;
  throw new ConfigurationError(
    '--output',
    `${output} would not be what its ending says: end it in ${Object.keys(FORMATS).map(endingOf).join(', ')}, or name what it is written as (--format)`,
  );
}

const endingOf = (format: string): string => (format === 'mermaid' ? 'mmd' : format);

const drawn = async (graph: TopologyGraph, format: string): Promise<string> =>
  (await FORMATS[format]?.(graph)) ?? '';

const networksText = (count: number): string => `${count} network${count === 1 ? '' : 's'}`;

const isFolder = (path: string): boolean =>
  path.endsWith('/') || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The overview as `index`, with a file for each network beside it. */
async function writeAll(
  graph: TopologyGraph,
  node: string,
  format: string,
  folder: string,
): Promise<void> {
  makeFolder(folder);
  const files = fileNames(graph.networks.map(({ network }) => network));
  const end = endingOf(format);
  const linkOf = (network: string): string => `${files.get(network)}.${end}`;
  const index = `index.${end}`;
  await writeFile(join(folder, index), await drawn(overviewOf(graph, node, linkOf), format));
  for (const { network } of graph.networks) {
    const one = partOf(graph, (name) => name === network);
    await writeFile(join(folder, linkOf(network)), await drawn(one, format));
  }
  report(`${networksText(graph.networks.length)}: ${join(folder, index)}`);
}

/** Throws ConfigurationError for a network or connection that there is none of. */
function wanted(
  zone: RenderedZone,
  whole: TopologyGraph,
  network: string | undefined,
  namespace: string | undefined,
): (network: string) => boolean {
  if (network === undefined && namespace === undefined) return () => true;
  const names = new Set(
    zone.networks
      .filter(
        ({ name, object, nads }) =>
          (network === undefined || name === network || object.split(' ')[1] === network) &&
          (namespace === undefined || nads.some((nad) => nad.startsWith(`${namespace}/`))),
      )
      .map(({ name }): string => name),
  );
  if (names.size === 0 && network !== undefined && namespace === undefined) {
    const joined = joinedBy(whole, network);
    if (joined.size > 0) return (name) => joined.has(name);
  }
  if (names.size === 0) {
    const isThere =
      network !== undefined &&
      zone.networks.some(
        ({ name, object }) => name === network || object.split(' ')[1] === network,
      );
    if (isThere && namespace !== undefined)
      throw new ConfigurationError(
        '--namespace',
        `network "${network}" has no NetworkAttachmentDefinition in namespace "${namespace}": leave out one of the two`,
      );
    const nearest = nearestName(
      network ?? '',
      zone.networks.flatMap(({ name, object }) => [name, object.split(' ')[1] ?? '']),
    );
    throw new ConfigurationError(
      network === undefined ? '--namespace' : 'network',
      network === undefined
        ? `no network has a NetworkAttachmentDefinition in namespace "${namespace}"`
        : `no network, and no connection in use on this node, is called "${network}"; ${nearest === undefined ? '`heddle status` lists them' : `did you mean "${nearest}"?`}`,
    );
  }
  return (name) => names.has(name);
}
