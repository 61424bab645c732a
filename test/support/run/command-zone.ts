/** A zone of a node without a data plane, and commands on it: `--no-wait` is for that. */
import { join } from 'node:path';
import { expect } from 'vitest';
import { checkout } from '../../../src/lab/paths.ts';
import { OvsdbServer, runOvs } from '../ovsdb/ovsdb-server.ts';
import { Installation, type CommandResult } from './heddle.ts';

export const WORKED_EXAMPLE = join(checkout, 'test/integration/cli/fixtures/worked-example');

export async function commandZone(): Promise<
  AsyncDisposable & { server: OvsdbServer; heddle: Installation }
> {
  const server = await OvsdbServer.start();
  const heddle = new Installation([
    '--node=ovn-worker',
    `--nb=${server.remote}`,
    '--cluster-subnets=10.244.0.0/16/24',
    '--k8s-service-cidrs=10.96.0.0/16',
  ]);
  heddle.copy(WORKED_EXAMPLE);
  return {
    server,
    heddle,
    async [Symbol.asyncDispose]() {
      heddle[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

export const nbctl = (server: OvsdbServer, ...args: readonly string[]): Promise<string> =>
  runOvs('ovn-nbctl', [`--db=${server.remote}`, ...args]);

export const names = async (server: OvsdbServer, table: string): Promise<string[]> =>
  (await nbctl(server, '--bare', '--columns=name', 'list', table))
    .split('\n')
    .filter(Boolean)
    .sort();

export const ended = ({ code, stderr }: CommandResult, expected: number): void => {
  expect(code, stderr).toBe(expected);
};
