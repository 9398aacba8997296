#!/usr/bin/env python3
"""An S3 store on loopback, by moto, for tests: a bucket `bucket` and a user with a key who may do anything with S3.

Prints one line, "PORT ACCESS_KEY SECRET_KEY", and from then on refuses requests whose signature is not right. Ends with its
standard input, and after ten minutes in any case.
"""
import json
import logging
import os
import sys
import threading

import boto3
import requests
from moto.server import ThreadedMotoServer

LONGEST_S = 600


def main():
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            del os.environ[name]
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    threading.Timer(LONGEST_S, lambda: os._exit(1)).start()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    endpoint = f"http://127.0.0.1:{port}"
    account = {"endpoint_url": endpoint, "region_name": "us-east-1", "aws_access_key_id": "setup",
               "aws_secret_access_key": "setup"}
    boto3.client("s3", **account).create_bucket(Bucket="bucket")
    iam = boto3.client("iam", **account)
    iam.create_user(UserName="tester")
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="tester", PolicyName="all", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName="tester")["AccessKey"]
    requests.post(f"{endpoint}/moto-api/reset-auth", data="0", timeout=30).raise_for_status()
    print(port, key["AccessKeyId"], key["SecretAccessKey"], flush=True)
    sys.stdin.read()
    os._exit(0)


main()
