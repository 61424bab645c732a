/** The objects that deploy/ installs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';

export const ROOT = resolve(import.meta.dirname, '../../..');

export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export const yamlFiles = (folder: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
    .sort();
export const manifests = yamlFiles('deploy').flatMap((name) =>
  parseAllDocuments(readFileSync(join(ROOT, 'deploy', name), 'utf8')).map(
    (document) => document.toJS() as Manifest,
  ),
);
export const named = <T extends Manifest>(kind: string, name: string): T => {
  const found = manifests.find((it) => it.kind === kind && it.metadata.name === name);
  if (found === undefined) return expect.unreachable(`no ${kind} ${name}`);
  return found as T;
};
