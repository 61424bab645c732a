/** The zone that `heddle graph` and `heddle render` show: of a node, or of one that is made up. */
import type { Command } from 'commander';
import { ConfigurationError } from '../process/configuration-error.ts';
import { renderedZone, type RenderedZone } from '../zone/rendered-zone.ts';
import { configurationOf, needed } from './options.ts';

const MOST_NODES = 200;

/** A flag of both. */
export const INVENT_NODES = [
  '--invent-nodes [COUNT]',
  'make up what manifests lack of nodes: those that pods name, so many in all (default 1), their addresses and gateways; shows all networks, on --node or the first',
] as const;

export async function zoneOf(command: Command): Promise<RenderedZone> {
  const { inventNodes } = command.opts<{ inventNodes?: string | true }>();
  const configuration = configurationOf(command);
  if (inventNodes === undefined) {
    if (configuration.manifests !== undefined && configuration.node === undefined)
      throw new ConfigurationError(
        '--node',
        'is not set: name a Node of the manifests, or have what they lack made up: --invent-nodes',
      );
    return renderedZone(needed(configuration, 'node'));
  }
  const count = inventNodes === true ? 1 : Number(inventNodes);
  if (!Number.isInteger(count) || count < 1 || count > MOST_NODES)
    throw new ConfigurationError(
      '--invent-nodes',
      `must be a number of nodes from 1 to ${MOST_NODES}, is "${String(inventNodes)}"`,
    );
  if (configuration.manifests === undefined)
    throw new ConfigurationError(
      '--invent-nodes',
      'goes with --manifests: an API server has its nodes',
    );
  return renderedZone({ ...configuration, render: 'everywhere' }, count);
}
