/** `heddle validate`: what an API server with our CRDs would say to manifests, without a cluster. */
import type { Command } from 'commander';
import type { Manifest, ManifestError, PreviousVersion } from '../api/validation/manifest.ts';
import { formatManifestError } from '../api/validation/manifest.ts';
import { RULES_SKIPPED } from '../api/validation/validate.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { resourceKindOf, servedKindLike } from '../api/kinds.ts';
import { objectKey } from '../api/objects.ts';
import { isPlainObject, own } from '../api/plain-object.ts';
import {
  appended,
  emptiness,
  filesAt,
  misspelt,
  readManifest as read,
  STANDARD_INPUT,
} from './manifest-files.ts';
import { UnreadableFile } from './unreadable-file.ts';
import { addSettings, configurationOf } from './options.ts';
import { EXIT, print, printJson, report, tone } from './output.ts';
import { byName, changed, objectsOf, printReach, reachReport, type ReachReport } from './reach.ts';
import { previewText } from './validate-connects.ts';
import { tenantConnectNotes } from './validate-tenant-connects.ts';
import { checkTogether } from './validate-together.ts';

interface Options {
  readonly json?: boolean;
  readonly strict?: boolean;
  readonly old?: readonly string[];
  readonly reach?: boolean;
}

export function register(program: Command): void {
  addSettings(
    program
      .command('validate')
      .description(
        'check manifests as an API server with the CRDs of Heddle would, without a cluster',
      )
      .argument('[files...]', 'YAML or JSON files, directories of them, or - for standard input')
      .option('--json', 'as JSON')
      .option(
        '--old <FILE>',
        'what is stored now (a file or directory, repeatable): checks the files as updates of it',
        appended,
      )
      .option('--strict', 'warnings fail, too')
      .option(
        '--reach',
        'with --old: which pods would reach which, and which no longer, once the files are applied',
      )
      .addHelpText(
        'after',
        "\nExit code: 0 everything is valid, 1 something is not, 64 nothing to check or a file can't be read.",
      ),
    ['cluster'],
  ).action(async (files: readonly string[], _options: unknown, command: Command) => {
    process.exitCode = await validate(files, command);
  });
}

interface Findings {
  readonly files: number;
  readonly objects: number;
  readonly errors: readonly ManifestError[];
  readonly warnings: readonly ManifestError[];
  readonly unknownKinds: Manifest['unknownKinds'];
  /** What connections of networks would join. */
  readonly connections: readonly { readonly name: string; readonly networks: readonly string[] }[];
  readonly notes: readonly string[];
}

/** Stored objects by kind, namespace and name. They need not be valid: their rules may be newer than they are. */
function previousVersions(paths: readonly string[]): {
  readonly previous: PreviousVersion;
  readonly documents: Manifest['documents'];
  readonly problems: readonly string[];
} {
  const manifests = paths.flatMap(filesAt).map((path) => read(path));
  const stored = new Map(
    manifests.flatMap(({ documents, refused }) => [
      ...documents.map(({ object, written }) => [identityOf(object), written] as const),
      ...refused.map(({ written }) => [identityOf(written), written] as const),
    ]),
  );
  const problems = manifests
    .flatMap(({ errors, refused }) => {
      const known = new Set(refused.map(({ object }) => object));
      return errors.filter(({ object }) => object === undefined || !known.has(object));
    })
    .map(formatManifestError);
  return {
    previous: (object) => stored.get(identityOf(object)),
    documents: manifests.flatMap(({ documents }) => documents),
    problems,
  };
}

/** Kind, namespace and name as the object says; `default` where a namespaced kind names no namespace. */
function identityOf(object: unknown): string {
  if (!isPlainObject(object)) return '';
  const kind = resourceKindOf(String(own(object, 'apiVersion')), String(own(object, 'kind')));
  const metadata = own(object, 'metadata');
  if (kind === undefined || !isPlainObject(metadata)) return '';
  const [name, namespace = 'default'] = ['name', 'namespace'].map((field) => {
    const value = own(metadata, field);
    return typeof value === 'string' ? value : undefined;
  });
  if (name === undefined) return '';
  return `${kind.kind} ${objectKey({ name, namespace: kind.namespaced ? namespace : undefined })}`;
}

const ONLY_ON_UPDATE =
  'rules about updates (what may not change) were not checked: give what is stored now with --old FILE';

/** An API server lists it as an error of the object. */
const isAboutRules = ({ message }: ManifestError): boolean => message.includes(RULES_SKIPPED);

const RULES_LATER = 'rules between its fields were not checked: correct its errors first';

/** It goes where its context points: what depends on the namespace was checked for another one, maybe. */
const withoutNamespace = ({ kind, object, written }: Manifest['documents'][number]): string[] => {
  const metadata = isPlainObject(written) ? own(written, 'metadata') : undefined;
  return !kind.namespaced || !isPlainObject(metadata) || own(metadata, 'namespace') !== undefined
    ? []
    : [
        `${kind.kind} ${object.metadata.name}: metadata.namespace is not given: kubectl takes that of its context or -n, manifests of Heddle "default"`,
      ];
};

/** An API server drops it, and so do we: who wrote it meant another kind, maybe. */
const droppedNamespace = ({ kind, object, written }: Manifest['documents'][number]): string[] => {
  const metadata = isPlainObject(written) ? own(written, 'metadata') : undefined;
  return kind.namespaced || !isPlainObject(metadata) || own(metadata, 'namespace') === undefined
    ? []
    : [
        `${kind.kind} ${object.metadata.name}: metadata.namespace is dropped: objects of this kind are in no namespace; take it out`,
      ];
};

function examine(paths: readonly string[], options: Options, command: Command): Findings {
  const { settings } = configurationOf(command);
  const old = options.old === undefined ? undefined : previousVersions(options.old);
  const names = paths.flatMap(filesAt);
  if (names.length === 0)
    throw new UnreadableFile(`no manifests (*.yaml, *.yml, *.json) in ${paths.join(', ')}`);
  const manifests = names.map((path) => read(path, old?.previous));
  const documents = manifests.flatMap((manifest) => manifest.documents);
  const together = checkTogether(documents, settings, old?.documents);
  const errors = manifests.flatMap((manifest) => manifest.errors);
  const broken = new Set(errors.map(({ file, object }) => `${file} ${object ?? ''}`));
  return {
    files: names.length,
    objects: documents.length + broken.size,
    errors: [
      ...errors.filter((error) => !isAboutRules(error)),
      ...manifests.flatMap(misspelt),
      ...together.errors,
    ],
    warnings: [
      ...manifests.flatMap(({ warnings }) => warnings),
      ...manifests.flatMap((manifest, index) => emptiness(manifest, names[index] ?? '')),
      ...together.warnings,
    ],
    unknownKinds: manifests
      .flatMap(({ unknownKinds }) => unknownKinds)
      .filter(({ apiVersion, kind }) => servedKindLike(apiVersion, kind) === undefined),
    connections: together.connections.map(({ name, networks }) => ({ name, networks })),
    notes: [
      ...errors.filter(isAboutRules).map(({ object = '' }) => `${object}: ${RULES_LATER}`),
      ...documents.flatMap(withoutNamespace),
      ...documents.flatMap(droppedNamespace),
      ...together.connections.map(previewText),
      ...together.notes.map(formatManifestError),
      ...tenantConnectNotes(documents, old?.documents ?? []),
      ...(old === undefined ? [ONLY_ON_UPDATE] : []),
      ...(old?.problems ?? []).map((problem) => `--old: ${problem}`),
    ],
  };
}

async function validate(paths: readonly string[], command: Command): Promise<number> {
  const options = command.opts<Options>();
  if (paths.length === 0) {
    report('heddle validate: name files or directories to check, or - for standard input');
    return EXIT.usage;
  }
  if (options.reach === true && options.old === undefined)
    throw new ConfigurationError('--reach', 'needs what is stored now: give it with --old FILE');
  if (options.reach === true && paths.includes(STANDARD_INPUT))
    throw new ConfigurationError('--reach', 'reads files twice: name a file in place of -');
  let findings: Findings;
  try {
    findings = examine(paths, options, command);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    report(`heddle validate: ${error.message}`);
    return EXIT.usage;
  }
  const { errors, warnings } = findings;
  const failed = errors.length > 0 || (options.strict === true && warnings.length > 0);
  const reach =
    options.reach === true && errors.length === 0
      ? await reachOfFiles(paths, options.old ?? [], command)
      : undefined;
  if (options.json === true)
    printJson({ valid: !failed, ...findings, ...(reach === undefined ? {} : { reach }) });
  else {
    printFindings(findings);
    if (reach !== undefined) printReach(reach);
  }
  return failed ? EXIT.problems : EXIT.success;
}

async function reachOfFiles(
  paths: readonly string[],
  old: readonly string[],
  command: Command,
): Promise<ReachReport> {
  const [now, then] = [objectsOf(old), objectsOf(paths)];
  const before = changed(byName([]), now);
  const after = changed(before, then);
  return reachReport(configurationOf(command), before, after, then.passedOver);
}

const count = (number: number, what: string): string =>
  `${number} ${what}${number === 1 ? '' : 's'}`;

function printFindings(findings: Findings): void {
  const { files, objects, errors, warnings, unknownKinds, notes } = findings;
  for (const error of errors) print(`${tone('error', 'bad')} ${formatManifestError(error)}`);
  for (const warning of warnings) {
    print(`${tone('warning', 'warning')} ${formatManifestError(warning)}`);
  }
  const kinds = new Map<string, number>();
  for (const { apiVersion, kind } of unknownKinds) {
    const name = `${kind} (${apiVersion})`;
    kinds.set(name, (kinds.get(name) ?? 0) + 1);
  }
  for (const [kind, number] of kinds) {
    print(
      `${tone('skipped', 'quiet')} ${count(number, 'object')} of kind ${kind}, which Heddle does not use`,
    );
  }
  for (const note of notes) print(`${tone('note', 'quiet')} ${note}`);
  const summary = `${count(objects, 'object')} in ${count(files, 'file')}: ${count(errors.length, 'error')}, ${count(warnings.length, 'warning')}`;
  print(tone(summary, errors.length > 0 ? 'bad' : 'good'));
}
