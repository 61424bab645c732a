#!/usr/bin/env node
/** Starts the `heddle` command. */
import { main } from './program.ts';

await main();
